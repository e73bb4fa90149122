/** The results of the mutants by file, stored in test/simulation/proof/mutants.json. */
import * as z from 'zod';

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
  /** the mutants that also survived all other tests; absent before those tests ran */
  alive: z.array(z.string()).exactOptional(),
});

type FileReport = z.infer<typeof fileSchema>;

export const reportSchema = z.strictObject({
  /** total time of all counts, including repeated ones */
  seconds: count,
  totals: countsSchema.extend({ files: count, constants: count }),
  files: z.record(z.string().regex(/^lib\/engine\/.+\.ts$/), fileSchema),
});

export type Report = z.infer<typeof reportSchema>;

const sum = (files: readonly FileReport[], of: keyof Counts | 'constants'): number =>
  files.reduce((total, file) => total + file[of], 0);

/** @returns the report with files in the order of their paths, fields in that of the schema, and totals that fit */
export function reportOf(seconds: number, counted: Report['files']): Report {
  const files = Object.fromEntries(Object.entries(counted).toSorted(([one], [other]) => (one < other ? -1 : 1)));
  const all = Object.values(files);
  return reportSchema.parse({
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
    files,
  });
}
