/** The report of the command `npm run planted-bugs`. */
import * as z from 'zod';
import { readReport } from '../reports.ts';
import { type PlantedBug, fingerprint } from './bug.ts';

const reportSchema = z.array(
  z.strictObject({
    name: z.string(),
    within: z.number(),
    /** the first seed that detected the bug, and what reported it; absent if none did */
    seed: z.number().optional(),
    by: z.string().optional(),
    /** this many seeds from the first one pass in the same simulations without the bug */
    green: z.number().optional(),
    /** the bug's fingerprint and the commit at the time of the search */
    made: z.string().optional(),
    commit: z.string().optional(),
  }),
);
export type Report = z.infer<typeof reportSchema>;
type Row = Report[number];

/** Empty if the command has not run yet. */
export const readBugReport = (): Report => readReport('planted-bugs', reportSchema) ?? [];

/** Whether the row has the bug's current fingerprint, and its seed passes without the bug. */
export const isOf = (bug: PlantedBug, { name, seed, green, made }: Row): boolean =>
  name === bug.name && made === fingerprint(bug) && seed !== undefined && seed <= bug.within && green === seed;
