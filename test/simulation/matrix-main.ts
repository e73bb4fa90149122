/**
 * `npm run crash-matrix` runs the whole corpus through the crash matrix on all cores, prints a table of its groups and writes
 * them down. It goes on where it stopped; `--anew` begins again; `--minutes 10` stops after a while; `--pairs 20` also runs two
 * crashes of each workflow with as many calls or fewer, which are other rows than those without.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import * as z from 'zod';
import { byChance } from './by-chance.ts';
import { corpus } from './corpus.ts';
import { type Row, addRow, emptyRow, rowSchema } from './crash-matrix.ts';

const { values } = parseArgs({
  options: {
    anew: { type: 'boolean', default: false },
    minutes: { type: 'string', default: '600' },
    pairs: { type: 'string', default: '0' },
  },
});

const folder = join(import.meta.dirname, 'proof');
const file = join(folder, 'crash-matrix.json');
const reportSchema = z.strictObject({
  commits: z.array(z.string()),
  seconds: z.number(),
  /** workflows of the corpus, and why some are not compared */
  corpus: z.number(),
  byChance: z.record(z.string(), z.string()),
  /** two crashes are aimed at each workflow with as many calls or fewer */
  mostCallsForPairs: z.number(),
  /** by group, then by workflow */
  groups: z.record(z.string(), z.record(z.string(), rowSchema)),
});

const mostCallsForPairs = Number(values.pairs);
const startedAt = performance.now();
const until = Date.now() + Number(values.minutes) * 60_000;
const before = values.anew || !existsSync(file) ? undefined : reportSchema.parse(JSON.parse(readFileSync(file, 'utf8')));
const isSameKind = before?.mostCallsForPairs === mostCallsForPairs;
const groups: Record<string, Record<string, Row>> = isSameKind ? before.groups : {};
const commit = execFileSync('git', ['rev-parse', '--short=12', 'HEAD'], { encoding: 'utf8' }).trim();

const all = Object.entries(corpus).flatMap(([group, fixed]) => fixed.map(({ name }, index) => ({ group, name, index })));
const left = all.filter(({ group, name }) => groups[group]?.[name] === undefined);
await Promise.all(
  Array.from({ length: availableParallelism() }, async () => {
    const thread = new Worker(new URL('./matrix-thread.ts', import.meta.url));
    try {
      for (let next = left.shift(); next !== undefined && Date.now() < until; next = left.shift()) {
        const { group, name, index } = next;
        const row = await answerOf(thread, { group, index, mostCallsForPairs });
        (groups[group] ??= {})[name] = row;
        for (const violation of row.violations) console.log(violation);
        keep();
      }
    } finally {
      await thread.terminate();
    }
  }),
);
print();

function keep(): void {
  const report: z.input<typeof reportSchema> = {
    commits: [...new Set([...(isSameKind ? before.commits : []), commit])],
    seconds: Math.round((isSameKind ? before.seconds : 0) + (performance.now() - startedAt) / 1_000),
    corpus: all.length,
    byChance: Object.fromEntries(byChance),
    mostCallsForPairs,
    groups,
  };
  mkdirSync(folder, { recursive: true });
  writeFileSync(file, `${JSON.stringify(report, undefined, 2)}\n`);
}

function print(): void {
  const whole = emptyRow();
  const table: Record<string, object> = {};
  for (const [group, rows] of Object.entries(groups)) {
    const sum = emptyRow();
    for (const row of Object.values(rows)) addRow(sum, row);
    addRow(whole, sum);
    table[group] = lineOf(sum);
  }
  console.table({ ...table, 'all of them': lineOf(whole) });
  console.log(`${whole.workflows} of ${all.length} workflows, ${((performance.now() - startedAt) / 1_000).toFixed(1)} s`);
  if (whole.violations.length > 0) process.exitCode = 1;
}

function lineOf({ violations, aimed, struck, compared: _compared, ...row }: Row): object {
  return { ...row, covered: `${aimed === 0 ? 0 : Math.floor((100 * struck) / aimed)} %`, violations: violations.length };
}

function answerOf(thread: Worker, asked: object): Promise<Row> {
  return new Promise((resolve, reject) => {
    thread.once('error', reject);
    thread.once('message', (answer: unknown) => {
      thread.off('error', reject);
      resolve(rowSchema.parse(answer));
    });
    thread.postMessage(asked);
  });
}
