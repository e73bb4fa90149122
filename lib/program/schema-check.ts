/** Asks a schema (Standard Schema, version 1) about a value. */
import { messageOf } from '../engine/words-of.ts';
import type { StandardSchema, SchemaIssue } from '../sdk/standard-schema.ts';

export type Checked =
  | { readonly kind: 'valid'; readonly value: unknown }
  | {
      readonly kind: 'invalid';
      readonly message: string;
      readonly issues: readonly { readonly path: string; readonly message: string }[];
    };

/** A schema that throws has refused. */
export async function checkWith(schema: StandardSchema, value: unknown): Promise<Checked> {
  try {
    const result = await schema['~standard'].validate(value);
    return result.issues === undefined ? { kind: 'valid', value: result.value } : invalid(result.issues);
  } catch (error) {
    return invalid([{ message: messageOf(error) }]);
  }
}

function invalid(found: readonly SchemaIssue[]): Checked {
  const issues = found.map(({ message, path = [] }) => ({
    message,
    path: path.map((part) => `/${String(keyOf(part))}`).join(''),
  }));
  const message = issues.map(({ path, message: what }) => (path === '' ? what : `${path}: ${what}`)).join('; ');
  return { kind: 'invalid', message, issues };
}

const keyOf = (part: PropertyKey | { readonly key: PropertyKey }): PropertyKey => (typeof part === 'object' ? part.key : part);
