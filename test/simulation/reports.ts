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

/** The results of `npm run simulate -- --go-on` for the current simulations, and the sums of earlier ones. */
export const seedsSchema = z.strictObject({
  ...countSchema.shape,
  next: z.number(),
  earlier: z
    .array(z.strictObject({ commits: z.array(z.string()), seeds: z.number(), seconds: z.number(), failed: z.number() }))
    .default([]),
});

/** The results of `npm run simulate:devkit`. */
export const devKitSeedsSchema = z.strictObject({
  commit: z.string(),
  seconds: z.number(),
  rows: z.array(
    z.strictObject({
      faults: z.string(),
      seeds: z.number(),
      failed: z.number(),
      commits: z.number(),
      received: z.number(),
      conflicts: z.number(),
      chunksRead: z.number(),
      largeRead: z.number(),
    }),
  ),
});
export type DevKitSeeds = z.output<typeof devKitSeedsSchema>;

/** The results of `npm run crash-matrix`. */
export const matrixSchema = z.strictObject({
  commits: z.array(z.string()),
  seconds: z.number(),
  /** the number of workflows, and the timing-dependent ones with the reason */
  corpus: z.number(),
  byChance: z.record(z.string(), z.string()),
  /** pairs of crashes run for workflows with at most this many calls */
  maxCallsForPairs: z.number(),
  /** the sums of each group of workflows */
  groups: z.record(z.string(), matrixRowSchema),
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
  writeFileSync(reportFile(name), reportText(report));
}

/** JSON with one row of a table on one line. */
export const reportText = (report: object): string => `${jsonText(z.json().parse(report), '')}\n`;

const longestLine = 240;

function jsonText(value: z.core.util.JSONType, indent: string): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const inner = `${indent}  `;
  const entries = Array.isArray(value)
    ? value.map((each) => jsonText(each, inner))
    : Object.entries(value).map(([key, each]) => `${JSON.stringify(key)}: ${jsonText(each, inner)}`);
  const [first, last] = Array.isArray(value) ? ['[', ']'] : ['{', '}'];
  const line =
    Array.isArray(value) || entries.length === 0
      ? `${first}${entries.join(', ')}${last}`
      : `${first} ${entries.join(', ')} ${last}`;
  const isRow = Object.values(value).every((each) => typeof each !== 'object' || each === null || Object.keys(each).length === 0);
  return isRow && line.length <= longestLine
    ? line
    : `${first}\n${entries.map((entry) => inner + entry).join(',\n')}\n${indent}${last}`;
}
