/** The report of the command `npm run planted-bugs`. */
import * as z from 'zod';
import { readReport } from '../reports.ts';
import { type PlantedBug, fingerprint } from './bug.ts';

const reportSchema = z.array(
  z.strictObject({
    name: z.string(),
    within: z.number(),
    /** the first that showed the bug, by the rule that did not hold; absent where none did */
    seed: z.number().optional(),
    by: z.string().optional(),
    /** so many seeds from the first one, that one among them, hold in the same world without the bug */
    green: z.number().optional(),
    /** the bug's fingerprint when it was looked for, and the commit that it was planted in */
    made: z.string().optional(),
    commit: z.string().optional(),
  }),
);
export type Report = z.infer<typeof reportSchema>;
type Row = Report[number];

/** Empty where the command was never run. */
export const readBugReport = (): Report => readReport('planted-bugs', reportSchema) ?? [];

/** Whether the row is of the bug as it is now, and its seed tells it from the sources without it. */
export const isOf = (bug: PlantedBug, { name, seed, green, made }: Row): boolean =>
  name === bug.name && made === fingerprint(bug) && seed !== undefined && seed <= bug.within && green === seed;
