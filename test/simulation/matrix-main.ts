/**
 * `npm run crash-matrix` runs the crash matrix of the whole corpus on all cores, prints a table of its groups and stores the
 * report. It continues an interrupted matrix; `--anew` starts again, and `--minutes 10` stops after that time. `--pairs 20`
 * runs pairs of crashes of each workflow with at most 20 calls and stores a separate report.
 */
import { execFileSync } from 'node:child_process';
import { availableParallelism } from 'node:os';
import * as z from 'zod';
import { parseOptionsOrExit, wholeNumber } from '../../scripts/options.ts';
import { RequestThread } from './request-thread.ts';
import { timingDependent, timingDependentAfterTwoCrashes } from './timing-dependent.ts';
import { corpus } from './corpus.ts';
import { type MatrixRow, addMatrixRow, emptyMatrixRow, matrixRowSchema } from './crash-matrix.ts';
import { matrixSchema, readReport, writeReport } from './reports.ts';
import { writeProof } from './write-proof.ts';

const values = parseOptionsOrExit({
  usage: 'usage: npm run crash-matrix -- [--anew] [--minutes <n>] [--pairs <most calls of a workflow>]',
  options: {
    anew: { type: 'boolean', default: false },
    minutes: { type: 'string', default: '600' },
    pairs: { type: 'string', default: '0' },
  },
  shape: z.object({ anew: z.boolean(), minutes: wholeNumber, pairs: wholeNumber }),
});

const maxCallsForPairs = values.pairs;
const startedAt = performance.now();
const until = Date.now() + values.minutes * 60_000;
const reportName = maxCallsForPairs === 0 ? 'crash-matrix' : 'crash-pairs';
const before = values.anew ? undefined : readReport(reportName, matrixSchema);
const groups: Record<string, Record<string, MatrixRow>> = before?.groups ?? {};
const commit = execFileSync('git', ['rev-parse', '--short=12', 'HEAD'], { encoding: 'utf8' }).trim();

const all = Object.entries(corpus).flatMap(([group, fixed]) => fixed.map(({ name }, index) => ({ group, name, index })));
const singles = readReport('crash-matrix', matrixSchema)?.groups;
const isSmall = ({ group, name }: { readonly group: string; readonly name: string }): boolean =>
  maxCallsForPairs === 0 || (singles?.[group]?.[name]?.calls ?? 0) <= maxCallsForPairs;
const asked = all.filter(isSmall);
const left = asked.filter(({ group, name }) => groups[group]?.[name] === undefined);
await Promise.all(
  Array.from({ length: availableParallelism() }, async () => {
    await using thread = new RequestThread(new URL('./matrix-thread.ts', import.meta.url), matrixRowSchema);
    for (let next = left.shift(); next !== undefined && Date.now() < until; next = left.shift()) {
      const { group, name, index } = next;
      const row = await thread.request({ group, index, maxCallsForPairs });
      (groups[group] ??= {})[name] = row;
      for (const violation of row.violations) console.log(violation);
      keep();
    }
  }),
);
print();
writeProof();

function keep(): void {
  const report: z.input<typeof matrixSchema> = {
    commits: [...new Set([...(before?.commits ?? []), commit])],
    seconds: Math.round((before?.seconds ?? 0) + (performance.now() - startedAt) / 1_000),
    corpus: asked.length,
    byChance: Object.fromEntries(maxCallsForPairs === 0 ? timingDependent : timingDependentAfterTwoCrashes),
    maxCallsForPairs,
    groups,
  };
  writeReport(reportName, report);
}

function print(): void {
  const whole = emptyMatrixRow();
  const table: Record<string, object> = {};
  for (const [group, rows] of Object.entries(groups)) {
    const sum = emptyMatrixRow();
    for (const row of Object.values(rows)) addMatrixRow(sum, row);
    addMatrixRow(whole, sum);
    table[group] = lineOf(sum);
  }
  console.table({ ...table, all: lineOf(whole) });
  console.log(`${whole.workflows} of ${asked.length} workflows, ${((performance.now() - startedAt) / 1_000).toFixed(1)} s`);
  if (whole.violations.length > 0) process.exitCode = 1;
}

function lineOf({ violations, aimed, struck, compared: _compared, ...row }: MatrixRow): object {
  return { ...row, covered: `${aimed === 0 ? 0 : Math.floor((100 * struck) / aimed)} %`, violations: violations.length };
}
