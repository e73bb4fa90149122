/**
 * `npm run simulate -- --seed 42` replays one seed. `--calm`, `--runs 6`, `--shared`, `--code 0` and `--slots 1` change its
 * options. `--kept 102-chaos-one-slot.json` replays a file of `seeds` with its recorded options. `--corpus --seeds 10` runs
 * each fixed workflow ten times with all faults. `--poison` simulates attempts that kill their workers, `--storm` crash
 * storms, `--parts` command batches in several commits, `--slow` attempts that use up their first slice, `--long` waits of weeks, `--waits` starts that wait, and
 * `--batches` starts in batches, `--short` chains that one commit can end. `--seeds 100000`
 * runs many seeds and prints the injected faults, the counts and the time. `--go-on --minutes 10` continues the stored count
 * of all seeds and stores it at intervals.
 */
import { execFileSync } from 'node:child_process';
import * as z from 'zod';
import { parseOptionsOrExit, wholeNumber } from '../../scripts/options.ts';
import { runCorpusUnderChaos } from './corpus-chaos.ts';
import { simulationFingerprint } from './simulation-fingerprint.ts';
import { noFaults, chaosFaults } from './faults.ts';
import { readRegressionSeed, optionsOfRegressionSeed } from './regression-seeds.ts';
import { readReport, seedsSchema, writeReport } from './reports.ts';
import { runSeeds } from './run-seeds.ts';
import { type SimulationOptions, simulate } from './simulation.ts';
import { type Tally, emptyTally, merge } from './tally.ts';
import { type SimulationKind, optionsOfKind, optionsOfSeed } from './options-of-seed.ts';
import { writeProof } from './write-proof.ts';

const given = wholeNumber.exactOptional();
const values = parseOptionsOrExit({
  usage: `usage: npm run simulate -- --seed <n> [--calm | --poison | --storm | --parts | --slow | --long | --packs | --waits | --batches | --short] [--shared] [--runs <n>] [--code <n>] [--slots <n>]
                            --kept <file of test/simulation/seeds>
                            --corpus [--from <n>] [--seeds <n>]
                            --go-on [--seeds <n>] [--minutes <n>]
                            [--seeds <n>] [--from <n>] [--calm | --poison | --storm | --parts | --slow | --long | --packs | --waits | --batches | --short] [--minutes <n>]`,
  options: {
    seed: { type: 'string' },
    seeds: { type: 'string' },
    from: { type: 'string' },
    corpus: { type: 'boolean', default: false },
    calm: { type: 'boolean', default: false },
    poison: { type: 'boolean', default: false },
    packs: { type: 'boolean', default: false },
    waits: { type: 'boolean', default: false },
    batches: { type: 'boolean', default: false },
    short: { type: 'boolean', default: false },
    storm: { type: 'boolean', default: false },
    parts: { type: 'boolean', default: false },
    slow: { type: 'boolean', default: false },
    long: { type: 'boolean', default: false },
    runs: { type: 'string' },
    shared: { type: 'boolean', default: false },
    code: { type: 'string' },
    slots: { type: 'string' },
    kept: { type: 'string' },
    'go-on': { type: 'boolean', default: false },
    minutes: { type: 'string' },
  },
  shape: z.object({
    seed: given,
    seeds: given,
    from: given,
    corpus: z.boolean(),
    calm: z.boolean(),
    poison: z.boolean(),
    packs: z.boolean(),
    waits: z.boolean(),
    batches: z.boolean(),
    short: z.boolean(),
    storm: z.boolean(),
    parts: z.boolean(),
    slow: z.boolean(),
    long: z.boolean(),
    runs: given,
    shared: z.boolean(),
    code: given,
    slots: given,
    kept: z.string().exactOptional(),
    'go-on': z.boolean(),
    minutes: given,
  }),
});

/** The count is stored after this many seeds: an interrupted command loses about a minute. */
const seedsAtATime = 1_000;

if (values.kept !== undefined) await replay(optionsOfRegressionSeed(readRegressionSeed(values.kept)));
else if (values.seed !== undefined) await replay(asked(values.seed));
else if (values.corpus) await runCorpus(values.from ?? 1, values.seeds ?? 1);
else if (values['go-on']) await goOn();
else print(...(await timed(values.from ?? 1, values.seeds ?? 200)));

function kindAsked(): SimulationKind {
  return (
    (['poison', 'storm', 'parts', 'slow', 'long', 'packs', 'waits', 'batches', 'short', 'calm'] as const).find(
      (kind) => values[kind],
    ) ?? 'drawn'
  );
}

function asked(seed: number): SimulationOptions {
  const { calm, runs, shared, code, slots } = values;
  const kind = kindAsked();
  if (kind !== 'drawn' && kind !== 'calm') return optionsOfKind(kind, seed);
  if (!calm && !shared && runs === undefined && code === undefined && slots === undefined) return optionsOfSeed(seed);
  return {
    seed,
    rates: calm ? noFaults : chaosFaults,
    isShared: shared,
    ...(runs === undefined ? {} : { runs }),
    ...(code === undefined ? {} : { code }),
    ...(slots === undefined ? {} : { limits: { maxConcurrentRuns: slots } }),
  };
}

async function replay(world: SimulationOptions): Promise<void> {
  try {
    const { summary, ...report } = await simulate(world);
    console.log(report);
    console.log(summary.join('\n'));
  } catch (thrown) {
    console.log(`seed ${world.seed}:`, thrown);
    process.exitCode = 1;
  }
}

async function timed(from: number, count: number, until = endOfTime()): Promise<[Tally, number]> {
  const startedAt = performance.now();
  const tally = await runSeeds({
    from,
    count,
    world: kindAsked(),
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
    const { runs, commits, faults, violations } = await runCorpusUnderChaos(round);
    for (const violation of violations) console.log(violation);
    console.log(`round ${round}: ${runs} fixed workflows, ${commits} commits, ${faults} faults, ${violations.length} failed`);
    if (violations.length > 0) process.exitCode = 1;
  }
}

function endOfTime(): number | undefined {
  return values.minutes === undefined ? undefined : Date.now() + values.minutes * 60_000;
}

/** Runs each seed once over several invocations, up to a million. When the fingerprint changes, a new count starts beside the earlier one. */
async function goOn(): Promise<void> {
  const worlds = simulationFingerprint();
  const none = { seconds: 0, commits: [], worlds, tally: emptyTally() };
  const known = readReport('seeds', seedsSchema) ?? { ...none, next: 1, earlier: [] };
  const { earlier, commits: knownCommits, seconds: knownSeconds, tally: knownTally } = known;
  const summary = { commits: knownCommits, seeds: knownTally.seeds, seconds: knownSeconds, failed: knownTally.failed.length };
  const isSame = known.worlds === worlds;
  const before = isSame ? known : { ...none, next: 1, earlier: [...earlier, summary] };
  const commit = execFileSync('git', ['rev-parse', '--short=12', 'HEAD'], { encoding: 'utf8' }).trim();
  const commits = [...new Set([...before.commits, commit])];
  const until = endOfTime();
  const last = before.next + (values.seeds ?? 1_000_000);
  const session = emptyTally();
  let [from, seconds] = [before.next, before.seconds];
  while (from < last && Date.now() < (until ?? Infinity)) {
    const [tally, took] = await timed(from, Math.min(seedsAtATime, last - from), until);
    merge(session, tally);
    merge(before.tally, tally);
    from += tally.seeds;
    seconds += took;
    const now = { next: from, seconds: Math.round(seconds), commits, worlds, tally: before.tally, earlier: before.earlier };
    writeReport('seeds', now);
  }
  print(session, seconds - before.seconds);
  writeProof();
  console.log(`${before.tally.seeds} seeds in all${isSame ? '' : ', with newly drawn simulations'}, the next is ${from}`);
}

function print({ seeds, faults, seen, maxOverlapMs, failed }: Tally, seconds: number): void {
  for (const { seed, message } of failed) console.log(`seed ${seed}: ${message}`);
  console.table(Object.fromEntries(Object.entries(faults).map(([fault, times]) => [fault, { times }])));
  console.table(Object.fromEntries(Object.entries(seen).map(([what, number]) => [what, { number }])));
  console.log(`longest time that an acknowledged signal and a matching wait coexisted: ${maxOverlapMs} ms`);
  console.log(`${seeds} seeds, ${failed.length} failed, ${seconds.toFixed(1)} s`);
  if (failed.length > 0) process.exitCode = 1;
}
