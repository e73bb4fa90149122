/** Ties a schema to its type: a key that only one of the two has is a compile error. */
import type * as z from 'zod';

type SameKeys<One, Other> = [keyof One, keyof Other] extends [keyof Other, keyof One]
  ? unknown
  : 'the schema and the type have different keys';

/**
 * `exactly<Type>()(schema)` returns the schema; it compiles only if the schema's output has exactly the keys of the type.
 * It is for objects. Tie a union member by member.
 */
export const exactly =
  <Type>() =>
  <Schema extends z.ZodType<Type>>(schema: Schema & SameKeys<z.output<Schema>, Type>): Schema =>
    schema;
