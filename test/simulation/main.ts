/**
 * `npm run simulate -- --seed 42` replays one seed; `--corpus --seeds 10` runs each fixed workflow ten times in rough weather; `--seeds 100000` runs many and prints what was injected, what was decided
 * and how long it took; `--go-on --minutes 10` goes on where the count of all seeds so far stopped, and writes it down.
 */
import { execFileSync } from 'node:child_process';
import { parseArgs } from 'node:util';
import { corpusInWeather } from './corpus-weather.ts';
import { noFaults, roughWeather } from './faults.ts';
import { readReport, seedsSchema, writeReport } from './reports.ts';
import { runSeeds } from './run-seeds.ts';
import { simulate } from './simulation.ts';
import { type Tally, emptyTally, merge } from './tally.ts';
import { writeProof } from './write-proof.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    seeds: { type: 'string' },
    from: { type: 'string' },
    corpus: { type: 'boolean', default: false },
    calm: { type: 'boolean', default: false },
    'go-on': { type: 'boolean', default: false },
    minutes: { type: 'string' },
  },
});

if (values.seed !== undefined) await replay(Number(values.seed));
else if (values.corpus) await runCorpus(Number(values.from ?? 1), Number(values.seeds ?? 1));
else if (values['go-on']) await goOn();
else print(...(await timed(Number(values.from ?? 1), Number(values.seeds ?? 200))));

async function replay(seed: number): Promise<void> {
  try {
    const { summary, ...report } = await simulate({ seed, rates: values.calm ? noFaults : roughWeather });
    console.log(report);
    console.log(summary.join('\n'));
  } catch (trouble) {
    console.log(`seed ${seed}:`, trouble);
    process.exitCode = 1;
  }
}

async function timed(from: number, count: number): Promise<[Tally, number]> {
  const startedAt = performance.now();
  const minutes = Number(values.minutes ?? Infinity);
  const until = Number.isFinite(minutes) ? Date.now() + minutes * 60_000 : undefined;
  const tally = await runSeeds({
    from,
    count,
    isCalm: values.calm,
    ...(until === undefined ? {} : { until }),
    onPart: ({ seeds, failed }) => {
      if (process.stderr.isTTY) process.stderr.write(`\r${seeds} seeds, ${failed.length} failed `);
    },
  });
  if (process.stderr.isTTY) process.stderr.write('\n');
  return [tally, (performance.now() - startedAt) / 1_000];
}

/** Each round has other seeds. */
async function runCorpus(from: number, count: number): Promise<void> {
  for (let round = from; round < from + count; round += 1) {
    const { runs, commits, faults, violations } = await corpusInWeather(round);
    for (const violation of violations) console.log(violation);
    console.log(`round ${round}: ${runs} fixed workflows, ${commits} commits, ${faults} faults, ${violations.length} failed`);
    if (violations.length > 0) process.exitCode = 1;
  }
}

/** Towards a million: each seed once, whatever the session. */
async function goOn(): Promise<void> {
  const before = readReport('seeds', seedsSchema) ?? { next: 1, seconds: 0, commits: [], tally: emptyTally() };
  const [tally, seconds] = await timed(before.next, Number(values.seeds ?? 1_000_000));
  print(tally, seconds);
  merge(before.tally, tally);
  const commit = execFileSync('git', ['rev-parse', '--short=12', 'HEAD'], { encoding: 'utf8' }).trim();
  const after = {
    next: before.next + tally.seeds,
    seconds: Math.round(before.seconds + seconds),
    commits: [...new Set([...before.commits, commit])],
    tally: before.tally,
  };
  writeReport('seeds', after);
  writeProof();
  console.log(`${before.tally.seeds} seeds in all, the next is ${after.next}`);
}

function print({ seeds, faults, seen, longestOverlapMs, failed }: Tally, seconds: number): void {
  for (const { seed, message } of failed) console.log(`seed ${seed}: ${message}`);
  console.table(Object.fromEntries(Object.entries(faults).map(([fault, times]) => [fault, { times }])));
  console.table(Object.fromEntries(Object.entries(seen).map(([what, number]) => [what, { number }])));
  console.log(`an acknowledged signal waited beside a wait that it fits for ${longestOverlapMs} ms at most`);
  console.log(`${seeds} seeds, ${failed.length} failed, ${seconds.toFixed(1)} s`);
  if (failed.length > 0) process.exitCode = 1;
}
