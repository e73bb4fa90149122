/**
 * `npm run bench`: prints the bill of a run and the latencies on this machine. `-- --write-golden` counts the bills again and
 * writes the golden files. `-- --long` runs a loop of the maximum length. `-- --peers` compares with similar engines, and with
 * `--long` also runs 25,000 steps. `-- --devkit` times steps of the Workflow DevKit.
 * `-- --processor` prints the processor time of a start and of a step, by thread. `-- --latency` times the paths that runs wait
 * for, with the delays of AWS. docs/BENCH.md explains each figure.
 */
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import * as z from 'zod';
import { allocatorVariables } from '../lib/cli/project/cloud-process.ts';
import { measureBarePuts } from './bare-put.ts';
import type { Bill } from './bill.ts';
import { type BenchCloud, startBenchCloud } from './bench-cloud.ts';
import { measureBundles } from './bundles.ts';
import { measureHelp } from './cli-help.ts';
import { countDevKit } from './devkit/count-devkit.ts';
import { measureStepTimes } from './devkit/step-times.ts';
import { measureFairShares } from './fair-shares.ts';
import { type CountedBills, type Goal, countedGoals, goalTable, missedCounts } from './goals.ts';
import { goldenOf, writeGolden } from './golden.ts';
import { measureAnswered, measureChain } from './latency.ts';
import { measureLatency } from './latency-report.ts';
import { countLoops } from './loop-commits.ts';
import { measureProcessorTime, processorTable } from './processor-time.ts';
import { quantilesOf } from './quantiles.ts';
import {
  type Scenario,
  batchStarts,
  count,
  endsPublished,
  scenarios,
  scenariosWithEndsPublished,
  slowScenarios,
} from './scenarios.ts';
import { countStarts, startGoldenName } from './start-cost.ts';
import { runLongestLoop } from './longest-loop.ts';
import { growth, measureLongRuns } from './long-runs.ts';
import { measurePeers } from './peers/peers.ts';
import { atOnce } from './peers/throughput.ts';
import { measureStartTimes } from './start-latency.ts';
import { measureStartRate } from './start-rate.ts';
import { sustainStarts } from './sustained-starts.ts';
import { measureStarts } from './startup.ts';
import {
  billTable,
  bundleTable,
  dollarTable,
  latencyTable,
  longTable,
  loopTable,
  type NamedBill,
  startTable,
  table,
  wordTable,
} from './tables.ts';
import { missedThresholds } from './thresholds.ts';
import { type UnderLoad, underLoadShape } from './under-load-shape.ts';
import { measureWords } from './watch-latency.ts';

const chainRuns = 100;
const chainSeconds = 12;
const barePuts = 500;
/** for each of the two start modes */
const rateSeconds = 5;
const timedStarts = 300;
const sustainedSeconds = 30;
const parallelStarts = 16;
const streamedWords = 200;
const loopItems = 1_000;
const loopConcurrencies = [10, 20, 50, 250];
const answeredRuns = 200;
/** goals by the name of the measure */
const stepsASecond: Readonly<Record<string, number>> = { [atOnce(1)]: 400, [atOnce(10)]: 1_000, [atOnce(100)]: 1_500 };
const longRuns = { chain: [10, 100, 1_000], loop: [10, 100, 1_000, 10_000] } as const;

const counted = [...scenarios, ...slowScenarios];

const printSection = (title: string, text: string): void => console.log(`\n${title}\n\n${text}`);
const warn = (line: string): void => console.error(line);

async function countAll(bench: BenchCloud, all: readonly Scenario[] = counted): Promise<readonly NamedBill[]> {
  const bills: NamedBill[] = [];
  for (const scenario of all) bills.push({ name: scenario.name, bill: await count(bench, scenario) });
  return bills;
}

async function withBench<Result>(bench: Promise<BenchCloud>, work: (bench: BenchCloud) => Promise<Result>): Promise<Result> {
  const started = await bench;
  try {
    return await work(started);
  } finally {
    await started.stop();
  }
}

async function writeAllGolden(directory: string): Promise<void> {
  const [bills, starts, ofDevKit] = await withBench(
    startBenchCloud(directory, warn),
    async (bench) => [await countAll(bench), await countStarts(bench), await countDevKit(bench, directory)] as const,
  );
  const withEnds = await withBench(startBenchCloud(join(directory, 'ends'), warn, endsPublished), (bench) =>
    countAll(bench, scenariosWithEndsPublished),
  );
  for (const { name, bill, bounds } of ofDevKit) writeGolden(name, goldenOf(bill, bounds));
  for (const { key, bill } of starts) writeGolden(startGoldenName(key), goldenOf(bill, {}));
  const all = [...counted, ...scenariosWithEndsPublished];
  for (const [at, { name, bounds }] of all.entries()) {
    const bill = [...bills, ...withEnds][at]?.bill;
    if (bill !== undefined) writeGolden(name, goldenOf(bill, bounds));
  }
  printSection('Golden counts', `${all.length + starts.length + ofDevKit.length} files are written to bench/golden`);
}

/** @returns the counts and thresholds that are missed */
async function measureAll(directory: string): Promise<readonly string[]> {
  printSection('Size of what is deployed', bundleTable(await measureBundles(join(directory, 'bundles'))));
  const { helpMs, bareMs } = measureHelp();
  printSection(
    'stepwell --help, beside a Node that does nothing',
    table([['median', `${helpMs.toFixed(0)} ms`, `${(helpMs / bareMs).toFixed(1)} times`]]),
  );
  // All later starts use the synthesis of the first directory.
  const { coldMs, warmMs, isSteady } = await measureStarts(directory);
  const seconds = (ms: number): string => `${(ms / 1_000).toFixed(2)} s`;
  printSection(
    'npm start, until the first response',
    table([
      ['from an empty folder', seconds(coldMs)],
      [isSteady ? 'with nothing changed' : 'SOURCES CHANGED MEANWHILE; again', seconds(warmMs)],
    ]),
  );
  return withBench(startBenchCloud(directory, warn), async (bench) => {
    const bills = await countAll(bench);
    printSection('The bill of one run', billTable(bills));
    printSection('Dollars for a million such runs', dollarTable(bills));
    const starts = await countStarts(bench);
    printSection(
      'What one start reads and writes',
      billTable(starts.map(({ key, bill }) => ({ name: key === 'batch' ? 'batch of ten' : `${key} key`, bill }))),
    );
    printSection(`An item of a loop of ${loopItems}`, loopTable(await countLoops(bench, loopItems, loopConcurrencies)));
    bench.stopRecording();
    const ten = { length: 10, runs: chainRuns, seconds: chainSeconds };
    const packed = await measureChain(bench, { ...ten, hasEffects: false });
    const effects = await measureChain(bench, { ...ten, hasEffects: true });
    const bare = await measureBarePuts(bench.cloud, barePuts, warn);
    // Of the same minute, and before the load.
    const answered = await measureAnswered(bench, 10, answeredRuns);
    printSection('A chain of ten no-op nodes on this machine', latencyTable(packed, effects, bare));
    const growths: Record<string, number> = {};
    for (const [kind, lengths] of Object.entries(longRuns)) {
      const long = await measureLongRuns(bench, kind === 'chain' ? kind : 'loop', lengths);
      const exponent = growth(long);
      growths[kind] = exponent;
      printSection(
        `From one node of a ${kind} to the next, which grows by its length to the power of ${exponent.toFixed(2)}`,
        longTable(long),
      );
    }
    printSection('POST /v1/runs on this machine', startTable(await measureStartTimes(bench, timedStarts), bare));
    const wordMs = await measureWords(bench, streamedWords);
    printSection('What a lens says, until a reader has it', wordTable(wordMs, bare));
    const sequential = await measureStartRate(bench, 1, rateSeconds);
    const parallel = await measureStartRate(bench, parallelStarts, rateSeconds);
    printSection(
      'Runs started in a second on this machine, while they run',
      table([
        ['one after the other', sequential.toFixed(0)],
        [`${parallelStarts} at a time`, parallel.toFixed(0)],
      ]),
    );
    const shares = await measureFairShares(bench);
    printSection(
      'Twenty small runs alone, and beside twenty scripts that never end',
      table([
        ['alone, median', `${shares.aloneMs.toFixed(0)} ms`],
        ['beside them', `${shares.besideMs.toFixed(0)} ms`, `${shares.ratio.toFixed(1)} times`],
      ]),
    );
    const sustained = await sustainStarts(bench, parallelStarts, sustainedSeconds);
    printSection(
      `Starts for ${sustainedSeconds} s, ${parallelStarts} at a time, each run looked for afterwards`,
      table([
        ['accepted', String(sustained.accepted)],
        ['in a second', sustained.perSecond.toFixed(0)],
        ['completed', String(sustained.completed)],
        [sustained.lost.length === 0 ? 'lost' : 'LOST', String(sustained.lost.length)],
      ]),
    );
    const goals = [
      ...countedGoals(countsOf(bills)),
      ...(await measureGoals(directory, {
        answeredInPuts: quantilesOf(answered).p50 / quantilesOf(bare).p50,
        startsASecond: parallel,
      })),
    ];
    printSection('Goals', goalTable(goals));
    if (sustained.lost.length > 0) throw new Error(`runs that were accepted are lost: ${sustained.lost.join(', ')}`);
    return [...missedThresholds({ growths, wordMs, besideEndless: shares.ratio }), ...missedCounts(goals)];
  });
}

const waitingCallsShape = z.looseObject({ warm: z.array(z.array(z.string())) });

function countsOf(bills: readonly NamedBill[]): CountedBills {
  const billFor = (name: string): Bill => {
    const found = bills.find((each) => each.name === name);
    if (found === undefined) throw new Error(`${name} was not counted`);
    return found.bill;
  };
  const waiting = readFileSync(new URL('golden/start-waiting-calls.json', import.meta.url), 'utf8');
  return {
    started: billFor('chain-10'),
    answered: billFor('chain-10-answered'),
    batch: billFor('chain-10-in-a-batch-of-ten'),
    batchRuns: batchStarts,
    waitingCalls: waitingCallsShape.parse(JSON.parse(waiting)).warm.length,
  };
}

/** In a process of its own: the recorded calls of this one would count as memory of the cloud. */
async function measureUnderLoad(directory: string): Promise<UnderLoad> {
  const script = fileURLToPath(new URL('under-load.ts', import.meta.url));
  // With the allocator of `npm start`.
  const env = { ...allocatorVariables, ...process.env };
  const { stdout } = await promisify(execFile)(process.execPath, [script, join(directory, 'under-load')], { env });
  return underLoadShape.parse(JSON.parse(stdout));
}

/** The goals that are times of this machine. */
async function measureGoals(
  directory: string,
  { answeredInPuts, startsASecond }: { readonly answeredInPuts: number; readonly startsASecond: number },
): Promise<readonly Goal[]> {
  const { throughput, idle } = await measureUnderLoad(directory);
  const { megabytes, percent } = idle;
  return [
    { what: 'ten scripts answered in one request, p50', unit: 'bare puts', reached: answeredInPuts, goal: 8 },
    ...throughput.map(({ measure, values }) => ({
      what: `steps, ${measure}`,
      unit: 'a second' as const,
      reached: Math.max(...values),
      goal: stepsASecond[measure] ?? 0,
      isLeast: true as const,
    })),
    { what: `starts, ${parallelStarts} at a time`, unit: 'a second', reached: startsASecond, goal: 150, isLeast: true },
    { what: 'memory after load, with the emulator', unit: 'MB', reached: megabytes, goal: 500 },
    { what: 'processor time without work', unit: '% of a core', reached: percent, goal: 1 },
  ];
}

const directory = mkdtempSync(join(tmpdir(), 'stepwell-bench-'));
try {
  const isLong = process.argv.includes('--long');
  if (process.argv.includes('--write-golden')) await writeAllGolden(directory);
  else if (process.argv.includes('--peers'))
    await withBench(startBenchCloud(directory, warn), (bench) => measurePeers(bench, { directory, isLong, printSection, warn }));
  else if (process.argv.includes('--devkit'))
    await withBench(startBenchCloud(directory, warn), async (bench) => {
      bench.stopRecording();
      const missed = await measureStepTimes(bench, directory, printSection, warn);
      if (missed.length > 0) throw new Error(missed.join('\n'));
    });
  else if (process.argv.includes('--processor'))
    await withBench(startBenchCloud(directory, warn), async (bench) => {
      bench.stopRecording();
      for (const measured of await measureProcessorTime(bench, directory)) printSection(measured.what, processorTable(measured));
    });
  else if (process.argv.includes('--latency')) await measureLatency(directory, printSection, warn);
  else if (isLong) {
    const { items, megabytes, seconds } = await runLongestLoop();
    printSection(
      `A loop of ${items} items in ${megabytes} MB, on stores in memory`,
      table([['all results in order', `${seconds.toFixed(0)} s`]]),
    );
  } else {
    const missed = await measureAll(directory);
    await measureLatency(directory, printSection, warn);
    if (missed.length > 0) throw new Error(missed.join('\n'));
  }
} finally {
  rmSync(directory, { recursive: true, force: true });
}
