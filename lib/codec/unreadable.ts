/** Something stored or sent that this version of the program cannot read: damaged, or written by a newer one. */
import * as z from 'zod';

export class Unreadable extends Error {
  override readonly name = 'Unreadable';
  constructor(what: string, why: string, options?: { cause: unknown }) {
    super(`${what} cannot be read: ${why}`, options);
  }
}

/** What the schema makes of the value; throws `Unreadable` that names `what` and every place that does not fit. */
export const read = <Output>(what: string, schema: z.ZodType<Output>, value: unknown): Output => {
  const result = schema.safeParse(value);
  if (!result.success) throw new Unreadable(what, z.prettifyError(result.error), { cause: result.error });
  return result.data;
};

/** The same for JSON text. */
export const readJson = <Output>(what: string, schema: z.ZodType<Output>, text: string): Output =>
  read(what, schema, parsed(what, text));

const parsed = (what: string, text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Unreadable(what, 'it is not JSON', { cause: error });
  }
};
