/** What the command found, as it is kept. */
import { join } from 'node:path';
import * as z from 'zod';

export const reportFile = join(import.meta.dirname, '../proof/planted-bugs.json');

/** `seed`: the first that showed the bug, by the rule that did not hold; absent where none did */
export const reportSchema = z.array(
  z.strictObject({ name: z.string(), within: z.number(), seed: z.number().optional(), by: z.string().optional() }),
);
export type Report = z.infer<typeof reportSchema>;
