/** The stored reports in the folder `proof`, from which docs/PROOF.md is generated. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { matrixRowSchema } from './crash-matrix.ts';
import { tallySchema } from './tally.ts';

const folder = join(import.meta.dirname, 'proof');

const countSchema = z.strictObject({
  seconds: z.number(),
  commits: z.array(z.string()),
  /** the fingerprint of the simulations; absent in reports from before it was recorded */
  worlds: z.string().optional(),
  tally: tallySchema,
});

/** The results of `npm run simulate -- --go-on` for the current simulations and for earlier ones. */
export const seedsSchema = z.strictObject({
  ...countSchema.shape,
  next: z.number(),
  earlier: z.array(countSchema).default([]),
});

/** The results of `npm run crash-matrix` so far. */
export const matrixSchema = z.strictObject({
  commits: z.array(z.string()),
  seconds: z.number(),
  /** the number of workflows, and the timing-dependent ones with the reason */
  corpus: z.number(),
  byChance: z.record(z.string(), z.string()),
  /** pairs of crashes run for workflows with at most this many calls */
  maxCallsForPairs: z.number(),
  /** by group, then by workflow */
  groups: z.record(z.string(), z.record(z.string(), matrixRowSchema)),
});

/** Bugs and their fixes, written by hand. */
export const foundSchema = z.array(
  z.strictObject({
    by: z.string(),
    bug: z.string(),
    fix: z.string(),
    /** the regression test */
    test: z.string(),
  }),
);

const reportFile = (name: string): string => join(folder, `${name}.json`);

/** Undefined if its command has not run yet. @throws if the file has another format */
export const readReport = <Schema extends z.ZodType>(name: string, schema: Schema): z.output<Schema> | undefined =>
  existsSync(reportFile(name)) ? schema.parse(JSON.parse(readFileSync(reportFile(name), 'utf8'))) : undefined;

export function writeReport(name: string, report: object): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(reportFile(name), `${JSON.stringify(report, undefined, 2)}\n`);
}
