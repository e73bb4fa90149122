/** The error of an item or a message that this version cannot read: it is damaged, or a newer version wrote it. */
import * as z from 'zod';

export class Unreadable extends Error {
  override readonly name = 'Unreadable';
  constructor(what: string, why: string, options?: { cause: unknown }) {
    super(`${what} cannot be read: ${why}`, options);
  }
}

/** Parses the value. @throws Unreadable with `what` and the path of each invalid part */
export const read = <Output>(what: string, schema: z.ZodType<Output>, value: unknown): Output => {
  const result = schema.safeParse(value);
  if (!result.success) throw new Unreadable(what, z.prettifyError(result.error), { cause: result.error });
  return result.data;
};

/** Parses JSON text. @throws Unreadable */
export const readJson = <Output>(what: string, schema: z.ZodType<Output>, text: string): Output =>
  read(what, schema, parsed(what, text));

const parsed = (what: string, text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Unreadable(what, 'it is not valid JSON', { cause: error });
  }
};
