/**
 * `npm run crash-matrix` runs the crash matrix of the whole corpus on all cores, prints a table of its groups and stores the sums of
 * the groups. `--pairs 20` runs pairs of crashes of each workflow with at most 20 calls and stores a separate report.
 */
import { execFileSync } from 'node:child_process';
import { availableParallelism } from 'node:os';
import * as z from 'zod';
import { parseOptionsOrExit, wholeNumber } from '../../scripts/options.ts';
import { RequestThread } from './request-thread.ts';
import { timingDependent, timingDependentAfterTwoCrashes } from './timing-dependent.ts';
import { corpus } from './corpus.ts';
import { type MatrixRow, addMatrixRow, emptyMatrixRow, matrixRowSchema } from './crash-matrix.ts';
import { type matrixSchema, writeReport } from './reports.ts';
import { writeProof } from './write-proof.ts';

const values = parseOptionsOrExit({
  usage: 'usage: npm run crash-matrix -- [--pairs <most calls of a workflow>]',
  options: { pairs: { type: 'string', default: '0' } },
  shape: z.object({ pairs: wholeNumber }),
});

const maxCallsForPairs = values.pairs;
const startedAt = performance.now();
const left = Object.entries(corpus).flatMap(([group, fixed]) => fixed.map((_one, index) => ({ group, index })));
const groups: Record<string, MatrixRow> = {};
await Promise.all(
  Array.from({ length: availableParallelism() }, async () => {
    await using thread = new RequestThread(new URL('./matrix-thread.ts', import.meta.url), matrixRowSchema);
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      const row = await thread.request({ ...next, maxCallsForPairs });
      // A larger workflow ran without pairs.
      if (maxCallsForPairs > 0 && row.calls > maxCallsForPairs) continue;
      addMatrixRow((groups[next.group] ??= emptyMatrixRow()), row);
      for (const violation of row.violations) console.log(violation);
    }
  }),
);
print();
keep();
writeProof();

function keep(): void {
  const report: z.input<typeof matrixSchema> = {
    commits: [execFileSync('git', ['rev-parse', '--short=12', 'HEAD'], { encoding: 'utf8' }).trim()],
    seconds: Math.round((performance.now() - startedAt) / 1_000),
    corpus: Object.values(groups).reduce((sum, { workflows }) => sum + workflows, 0),
    byChance: Object.fromEntries(maxCallsForPairs === 0 ? timingDependent : timingDependentAfterTwoCrashes),
    maxCallsForPairs,
    groups: Object.fromEntries(Object.keys(corpus).flatMap((name) => (groups[name] === undefined ? [] : [[name, groups[name]]]))),
  };
  writeReport(maxCallsForPairs === 0 ? 'crash-matrix' : 'crash-pairs', report);
}

function print(): void {
  const whole = emptyMatrixRow();
  const table: Record<string, object> = {};
  for (const [group, row] of Object.entries(groups)) {
    addMatrixRow(whole, row);
    table[group] = lineOf(row);
  }
  console.table({ ...table, all: lineOf(whole) });
  console.log(`${whole.workflows} workflows, ${((performance.now() - startedAt) / 1_000).toFixed(1)} s`);
  if (whole.violations.length > 0) process.exitCode = 1;
}

function lineOf({ violations, aimed, struck, compared: _compared, ...row }: MatrixRow): object {
  return { ...row, covered: `${aimed === 0 ? 0 : Math.floor((100 * struck) / aimed)} %`, violations: violations.length };
}
