/** The results of the mutants by file, stored in test/simulation/proof/mutants.json. */
import * as z from 'zod';

const count = z.int().nonnegative();

const countsSchema = z.strictObject({
  mutants: count,
  killed: count,
  /** killed too, as a rule: the mutant goes round for ever */
  timedOut: count,
  survived: count,
  /** no test goes there */
  noCoverage: count,
  /** the module or the test runner broke before any test could judge */
  broken: count,
});

export type Counts = z.infer<typeof countsSchema>;

const hash = z.string().regex(/^[0-9a-f]{16}$/);

const fileSchema = countsSchema.extend({
  /** of its text, and of the tests that judged it: while both stand, its counts do */
  source: hash,
  tests: hash,
  /** where it was counted */
  commit: z.string().regex(/^[0-9a-f]{7,}$/),
  /** mutants of what runs once when the module is loaded: constants and tables. They are not tried. */
  constants: count,
  /** which these are that no test noticed, also none of those that were asked for them alone; absent: those were not asked yet */
  alive: z.array(z.string()).exactOptional(),
});

type FileReport = z.infer<typeof fileSchema>;

export const reportSchema = z.strictObject({
  /** of all counting so far, also of what was counted again later */
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
