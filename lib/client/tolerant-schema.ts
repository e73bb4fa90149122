/**
 * Answers are read more loosely than the service writes them, so that an older client goes on with a newer service: what it does
 * not know is let through, fields and words alike. What the route promises must still be there, and be of its kind.
 */
import * as z from 'zod';
import type { JsonObject, JsonValue } from '../engine/json.ts';

/** A word that a later service may use; the ones that are known stay known to an editor. */
type UnknownString = string & Record<never, never>;

/** What comes out: closed lists of words are open, and so are numbers that stand for a version. */
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

/** The same shape, open. Made once for each schema: the table of routes does not change. */
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
  if (schema instanceof z.ZodRecord) return z.record(z.string(), tolerantSchema(schema.def.valueType));
  if (schema instanceof z.ZodEnum) return z.string();
  if (schema instanceof z.ZodLiteral) return tolerantLiteral(schema);
  if (schema instanceof z.ZodType) return schema;
  throw new TypeError('a schema of an answer is of a kind that cannot be read');
};

/** A yes stays a yes: `healthy` is a statement, not a word of a list. */
const tolerantLiteral = (schema: z.ZodLiteral): z.ZodType => {
  const values = [...schema.def.values];
  if (values.every((value) => typeof value === 'string')) return z.string();
  return values.every((value) => typeof value === 'number') ? z.number() : schema;
};

/** @returns where it does not fit and why; undefined where it does */
export const describeMismatch = (schema: z.core.$ZodType, value: unknown): string | undefined => {
  const issue = tolerantSchema(schema).safeParse(value).error?.issues[0];
  if (issue === undefined) return undefined;
  const pointer = issue.path.map((step) => `/${String(step)}`).join('');
  return `${pointer === '' ? 'its root' : pointer}: ${issue.message}`;
};

/** Schemas of answers change nothing that they read, so what fits is the answer. */
export const matchesSchema = <Schema extends z.ZodType>(schema: Schema, value: unknown): value is Tolerant<z.output<Schema>> =>
  describeMismatch(schema, value) === undefined;
