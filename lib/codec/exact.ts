/** Ties a schema to the type it stands for: a member the one has and the other lacks stops compiling. */
import type * as z from 'zod';

type SameKeys<One, Other> = [keyof One, keyof Other] extends [keyof Other, keyof One]
  ? unknown
  : 'the schema and the type have different keys';

/**
 * `exactly<Type>()(schema)` is the schema itself, where its output is the type, key for key.
 * For objects; a union is tied member by member.
 */
export const exactly =
  <Type>() =>
  <Schema extends z.ZodType<Type>>(schema: Schema & SameKeys<z.output<Schema>, Type>): Schema =>
    schema;
