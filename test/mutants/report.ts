/** The results of the mutants by file, stored in test/simulation/proof/mutants.json. */
import * as z from 'zod';
import { defined } from '../../lib/base/defined.ts';

const count = z.int().nonnegative();

const countsSchema = z.strictObject({
  mutants: count,
  killed: count,
  /** usually killed too: the mutant loops endlessly */
  timedOut: count,
  survived: count,
  /** not covered by a test */
  noCoverage: count,
  /** the module or the test runner failed before any test ran */
  broken: count,
});

export type Counts = z.infer<typeof countsSchema>;

const hash = z.string().regex(/^[0-9a-f]{16}$/);

const fileSchema = countsSchema.extend({
  /** hashes of the file and of its tests; the counts are valid while both are unchanged */
  source: hash,
  tests: hash,
  /** the commit of the count */
  commit: z.string().regex(/^[0-9a-f]{7,}$/),
  /** mutants of constants and tables, which run once when the module is loaded; they are not tried */
  constants: count,
  /** its survivors ran against all other tests too; absent before those tests ran */
  isAgainstAll: z.literal(true).exactOptional(),
});

const sampleSchema = z.strictObject({
  date: z.iso.date(),
  commit: z.string().regex(/^[0-9a-f]{7,}$/),
  /** the options of the command */
  asked: count,
  seed: count,
  seconds: count,
  /** mutants of all files, and those of them that were drawn and tried */
  population: count,
  mutants: count,
  killed: count,
  /** survivors ran against all tests; otherwise against the tests of the areas only, and the killed are a lower bound */
  isAgainstAll: z.boolean(),
});

export type Sample = z.infer<typeof sampleSchema>;

/** The 95 % confidence interval of the killed part, from 0 to 1, by Wilson's formula. */
export function intervalOf({ killed, mutants }: Pick<Sample, 'killed' | 'mutants'>): readonly [number, number] {
  if (mutants === 0) return [0, 1];
  const z2 = 1.96 ** 2;
  const part = killed / mutants;
  const middle = (part + z2 / (2 * mutants)) / (1 + z2 / mutants);
  const half = (1.96 * Math.sqrt((part * (1 - part)) / mutants + z2 / (4 * mutants ** 2))) / (1 + z2 / mutants);
  return [middle - half, middle + half];
}

type FileReport = z.infer<typeof fileSchema>;

export const reportSchema = z.strictObject({
  /** the day of the last count of whole files */
  date: z.iso.date(),
  /** total time of all counts, including repeated ones */
  seconds: count,
  totals: countsSchema.extend({ files: count, constants: count }),
  /** the last random sample */
  sample: sampleSchema.exactOptional(),
  files: z.record(z.string().regex(/^lib\/engine\/.+\.ts$/), fileSchema),
});

export type Report = z.infer<typeof reportSchema>;

const sum = (files: readonly FileReport[], of: keyof Counts | 'constants'): number =>
  files.reduce((total, file) => total + file[of], 0);

/** @returns the report with files in the order of their paths, fields in that of the schema, and totals that fit */
export function reportOf({ date, seconds, sample }: Omit<Report, 'totals' | 'files'>, counted: Report['files']): Report {
  const files = Object.fromEntries(Object.entries(counted).toSorted(([one], [other]) => (one < other ? -1 : 1)));
  const all = Object.values(files);
  return reportSchema.parse({
    date,
    seconds,
    totals: {
      files: all.length,
      mutants: sum(all, 'mutants'),
      killed: sum(all, 'killed'),
      timedOut: sum(all, 'timedOut'),
      survived: sum(all, 'survived'),
      noCoverage: sum(all, 'noCoverage'),
      broken: sum(all, 'broken'),
      constants: sum(all, 'constants'),
    },
    ...defined({ sample }),
    files,
  });
}
