/** What the command found, as it is kept. */
import * as z from 'zod';
import { readReport } from '../reports.ts';

/** `seed`: the first that showed the bug, by the rule that did not hold; absent where none did */
const reportSchema = z.array(
  z.strictObject({ name: z.string(), within: z.number(), seed: z.number().optional(), by: z.string().optional() }),
);
export type Report = z.infer<typeof reportSchema>;

/** Empty where the command was never run. */
export const knownReport = (): Report => readReport('planted-bugs', reportSchema) ?? [];
