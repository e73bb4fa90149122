/** Validates a value with a schema (Standard Schema, version 1). */
import { errorMessage } from '../engine/error-text.ts';
import type { StandardSchema, SchemaIssue } from '../sdk/standard-schema.ts';

export type SchemaResult =
  | { readonly kind: 'valid'; readonly value: unknown }
  | {
      readonly kind: 'invalid';
      readonly message: string;
      readonly issues: readonly { readonly path: string; readonly message: string }[];
    };

/** A schema that throws has rejected the value. */
export async function validateWith(schema: StandardSchema, value: unknown): Promise<SchemaResult> {
  try {
    const result = await schema['~standard'].validate(value);
    return result.issues === undefined ? { kind: 'valid', value: result.value } : invalid(result.issues);
  } catch (error) {
    return invalid([{ message: errorMessage(error) }]);
  }
}

function invalid(schemaIssues: readonly SchemaIssue[]): SchemaResult {
  const issues = schemaIssues.map(({ message, path = [] }) => ({
    message,
    path: path.map((part) => `/${String(keyOf(part))}`).join(''),
  }));
  const message = issues.map(({ path, message: detail }) => (path === '' ? detail : `${path}: ${detail}`)).join('; ');
  return { kind: 'invalid', message, issues };
}

const keyOf = (part: PropertyKey | { readonly key: PropertyKey }): PropertyKey => (typeof part === 'object' ? part.key : part);
