/** The fields of a form, from the JSON Schema of a shape. What has no form of its own is edited as JSON. */
import './without-eval.ts';
import * as z from 'zod';
import { type JsonObject, type JsonValue, isJsonArray, isJsonObject } from '../../engine/json.ts';

export type Field =
  | { readonly kind: 'text'; readonly maxLength: number | undefined }
  | {
      readonly kind: 'number';
      readonly isInteger: boolean;
      readonly minimum: number | undefined;
      readonly maximum: number | undefined;
    }
  | { readonly kind: 'boolean' }
  | { readonly kind: 'choice'; readonly options: readonly string[] }
  | { readonly kind: 'constant'; readonly value: JsonValue }
  | { readonly kind: 'array'; readonly items: Field }
  | { readonly kind: 'object'; readonly fields: readonly NamedField[] }
  /** names that the author chooses, each with a value */
  | { readonly kind: 'record'; readonly values: Field }
  | { readonly kind: 'variants'; readonly variants: readonly Field[] }
  /** text, a template, or JSON */
  | { readonly kind: 'value' };

export interface NamedField {
  readonly name: string;
  readonly field: Field;
  readonly isRequired: boolean;
  /** what an absent value means */
  readonly fallback: JsonValue | undefined;
}

/** The fields of an object's schema. */
export function fieldsOf(schema: z.ZodObject): readonly NamedField[] {
  const json: JsonValue = JSON.parse(JSON.stringify(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })));
  const field = fieldOf(json);
  return field.kind === 'object' ? field.fields : [];
}

const numberIn = (value: JsonValue | undefined): number | undefined => (typeof value === 'number' ? value : undefined);
const textsIn = (value: JsonValue | undefined): readonly string[] =>
  isJsonArray(value) ? value.filter((each) => typeof each === 'string') : [];

/** zod writes this bound for each whole number. */
const unbounded = Number.MAX_SAFE_INTEGER;

function fieldOf(schema: JsonValue | undefined): Field {
  if (!isJsonObject(schema)) return { kind: 'value' };
  const { anyOf, const: constant, enum: options, type } = schema;
  if (isJsonArray(anyOf)) return variantsOf(anyOf);
  if (constant !== undefined) return { kind: 'constant', value: constant };
  if (isJsonArray(options)) return { kind: 'choice', options: textsIn(options) };
  if (type === 'string') return { kind: 'text', maxLength: numberIn(schema['maxLength']) };
  if (type === 'boolean') return { kind: 'boolean' };
  if (type === 'integer' || type === 'number') {
    const maximum = numberIn(schema['maximum']);
    return {
      kind: 'number',
      isInteger: type === 'integer',
      minimum: numberIn(schema['minimum']),
      maximum: maximum === unbounded ? undefined : maximum,
    };
  }
  if (type === 'array') return { kind: 'array', items: fieldOf(schema['items']) };
  return type === 'object' ? objectOf(schema) : { kind: 'value' };
}

function objectOf(schema: JsonObject): Field {
  const { properties, additionalProperties } = schema;
  if (isJsonObject(additionalProperties)) return { kind: 'record', values: fieldOf(additionalProperties) };
  const required = textsIn(schema['required']);
  const fields = Object.entries(isJsonObject(properties) ? properties : {}).map(([name, property]): NamedField => ({
    name,
    field: fieldOf(property),
    isRequired: required.includes(name),
    fallback: isJsonObject(property) ? property['default'] : undefined,
  }));
  return { kind: 'object', fields };
}

/** Variants that are all objects or constants have a choice. Others, such as a text or a number, are one value. */
function variantsOf(anyOf: readonly JsonValue[]): Field {
  const variants = anyOf.map(fieldOf);
  const isDistinct = variants.every(({ kind }) => kind === 'object' || kind === 'constant' || kind === 'number');
  return isDistinct ? { kind: 'variants', variants } : { kind: 'value' };
}

/** Whether a value has the form of a variant: it fits its constants and choices. */
export function fits(field: Field, value: JsonValue | undefined): boolean {
  switch (field.kind) {
    case 'constant':
      return value === field.value;
    case 'choice':
      return typeof value === 'string' && field.options.includes(value);
    case 'number':
      return typeof value === 'number';
    case 'text':
      return typeof value === 'string';
    case 'boolean':
      return typeof value === 'boolean';
    case 'array':
      return isJsonArray(value);
    case 'record':
    case 'variants':
    case 'value':
      return true;
    case 'object':
      return (
        isJsonObject(value) &&
        field.fields.every(
          ({ name, field: own, isRequired }) =>
            !isRequired || !['constant', 'choice'].includes(own.kind) || fits(own, value[name]),
        )
      );
  }
}

/** A value to begin with. */
export function initialOf(field: Field): JsonValue {
  switch (field.kind) {
    case 'text':
    case 'value':
      return '';
    case 'number':
      return field.minimum ?? 0;
    case 'boolean':
      return false;
    case 'choice':
      return field.options[0] ?? '';
    case 'constant':
      return field.value;
    case 'array':
      return [];
    case 'record':
      return {};
    case 'variants':
      return field.variants[0] === undefined ? null : initialOf(field.variants[0]);
    case 'object':
      return Object.fromEntries(
        field.fields.filter(({ isRequired }) => isRequired).map(({ name, field: own }) => [name, initialOf(own)]),
      );
  }
}
