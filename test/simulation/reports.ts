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
  /** the fingerprint of the worlds that were drawn; absent of those from before it was noted */
  worlds: z.string().optional(),
  tally: tallySchema,
});

/** What `npm run simulate -- --go-on` has run so far of the worlds that are drawn now, and before of others. */
export const seedsSchema = z.strictObject({
  ...countSchema.shape,
  next: z.number(),
  earlier: z.array(countSchema).default([]),
});

/** What `npm run crash-matrix` has run so far. */
export const matrixSchema = z.strictObject({
  commits: z.array(z.string()),
  seconds: z.number(),
  /** workflows of the corpus, and why some are not compared */
  corpus: z.number(),
  byChance: z.record(z.string(), z.string()),
  /** two crashes are aimed at each workflow with as many calls or fewer */
  maxCallsForPairs: z.number(),
  /** by group, then by workflow */
  groups: z.record(z.string(), z.record(z.string(), matrixRowSchema)),
});

/** What was found, and how it was mended: written by hand. */
export const foundSchema = z.array(
  z.strictObject({
    by: z.string(),
    what: z.string(),
    mended: z.string(),
    /** where it stays */
    kept: z.string(),
  }),
);

const reportFile = (name: string): string => join(folder, `${name}.json`);

/** Undefined where its command was never run. @throws where the file holds something else */
export const readReport = <Schema extends z.ZodType>(name: string, schema: Schema): z.output<Schema> | undefined =>
  existsSync(reportFile(name)) ? schema.parse(JSON.parse(readFileSync(reportFile(name), 'utf8'))) : undefined;

export function writeReport(name: string, report: object): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(reportFile(name), `${JSON.stringify(report, undefined, 2)}\n`);
}
