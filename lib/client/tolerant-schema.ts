/**
 * Schemas that tolerate responses of newer services: unknown fields and unknown strings of an enum are accepted.
 * Fields that the route declares must be present and have their type.
 */
import * as z from 'zod';
import type { JsonObject, JsonValue } from '../engine/json.ts';

/** A string that a newer service may return. Editors still suggest the known strings. */
type UnknownString = string & Record<never, never>;

/** The type of a tolerant value: enums accept other strings, and number literals accept other numbers. */
export type Tolerant<T> = unknown extends T
  ? T
  : JsonValue extends T
    ? T
    : JsonObject extends T
      ? T
      : T extends string
        ? string extends T
          ? T
          : T | UnknownString
        : T extends number
          ? number
          : T extends object
            ? { [Key in keyof T]: Tolerant<T[Key]> }
            : T;

const schemaCache = new WeakMap<z.core.$ZodType, z.ZodType>();

/** Converts a schema to a tolerant one, and caches the result. */
export const tolerantSchema = (schema: z.core.$ZodType): z.ZodType => {
  const cached = schemaCache.get(schema);
  if (cached !== undefined) return cached;
  const tolerant = buildTolerantSchema(schema);
  schemaCache.set(schema, tolerant);
  return tolerant;
};

const buildTolerantSchema = (schema: z.core.$ZodType): z.ZodType => {
  if (schema instanceof z.ZodObject)
    return z.looseObject(Object.fromEntries(Object.entries(schema.shape).map(([key, part]) => [key, tolerantSchema(part)])));
  if (schema instanceof z.ZodExactOptional) return tolerantSchema(schema.def.innerType).exactOptional();
  if (schema instanceof z.ZodNullable) return tolerantSchema(schema.def.innerType).nullable();
  if (schema instanceof z.ZodReadonly) return tolerantSchema(schema.def.innerType);
  if (schema instanceof z.ZodArray) return z.array(tolerantSchema(schema.def.element));
  // A newer service may append columns to a row.
  if (schema instanceof z.ZodTuple) return tolerantTuple(schema);
  if (schema instanceof z.ZodRecord) return z.record(z.string(), tolerantSchema(schema.def.valueType));
  if (schema instanceof z.ZodEnum) return z.string();
  if (schema instanceof z.ZodLiteral) return tolerantLiteral(schema);
  if (schema instanceof z.ZodType) return schema;
  throw new TypeError('a response schema has an unsupported type');
};

function tolerantTuple({ def: { items } }: z.ZodTuple): z.ZodType {
  const [first, ...others] = items.map(tolerantSchema);
  return first === undefined ? z.array(z.unknown()) : z.tuple([first, ...others], z.unknown());
}

/** String and number literals become open; a boolean literal such as `healthy: true` stays exact. */
const tolerantLiteral = (schema: z.ZodLiteral): z.ZodType => {
  const values = [...schema.def.values];
  if (values.every((value) => typeof value === 'string')) return z.string();
  return values.every((value) => typeof value === 'number') ? z.number() : schema;
};

/** @returns the pointer and the reason of the first mismatch; undefined if the value matches */
export const describeMismatch = (schema: z.core.$ZodType, value: unknown): string | undefined => {
  const issue = tolerantSchema(schema).safeParse(value).error?.issues[0];
  if (issue === undefined) return undefined;
  const pointer = issue.path.map((step) => `/${String(step)}`).join('');
  return `${pointer === '' ? 'the root' : pointer}: ${issue.message}`;
};

/** Response schemas do not transform values, so a matching value can be returned as it is. */
export const matchesSchema = <Schema extends z.ZodType>(schema: Schema, value: unknown): value is Tolerant<z.output<Schema>> =>
  describeMismatch(schema, value) === undefined;
