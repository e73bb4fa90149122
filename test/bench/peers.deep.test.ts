/** `npm run bench -- --peers` compares the same work: each engine runs the programs with the same results. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BenchCloud, startBenchCloud } from '../../bench/bench-cloud.ts';
import { startDurableFunctions } from '../../bench/peers/durable-functions.ts';
import { type Engine, runPooled } from '../../bench/peers/engine.ts';
import { rotate } from '../../bench/peers/rotate.ts';
import { idleMeasures } from '../../bench/peers/idle-latency.ts';
import { startOpenWorkflow } from '../../bench/peers/openworkflow.ts';
import { type Result, type Steps, programNames, programs } from '../../bench/peers/programs.ts';
import { curveLine, idleTable, rowTable, throughputTable } from '../../bench/peers/report.ts';
import { type Samples, rawLines, spread } from '../../bench/peers/samples.ts';
import { measureChain, bareName, stepMeasure } from '../../bench/peers/steps-in-a-row.ts';
import { startStepwell } from '../../bench/peers/stepwell.ts';
import { atOnce, runsByConcurrency } from '../../bench/peers/throughput.ts';
import { preparedFolder } from '../e2e/local-start.ts';

const directory = preparedFolder(mkdtempSync(join(tmpdir(), 'stepwell-peers-')));
const engines: Engine[] = [];
let bench: BenchCloud;

beforeAll(async () => {
  bench = await startBenchCloud(directory, () => undefined);
  bench.stopRecording();
  engines.push(await startStepwell(bench), await startOpenWorkflow(directory), await startDurableFunctions());
}, 300_000);
afterAll(async () => {
  for (const engine of engines) await engine.stop();
  await bench.stop();
  rmSync(directory, { recursive: true, force: true });
});

/** Runs a program without an engine: no step is stored and no wait takes time. */
const withoutEngine: Steps = {
  run: async (_name, body) => body(),
  child: () => programs.stamp(withoutEngine),
  signal: async () => undefined,
};

const ascending = ({ at }: Result): boolean => at.every((time, index) => index === 0 || time >= (at[index - 1] ?? time));

test.each(programNames)('%s has the same result on each engine as without one, and its steps run in order', async (program) => {
  const plain = await programs[program](withoutEngine, { run: 'plain', steps: 7, every: 2 });
  for (const engine of engines) {
    const run = await engine.start(program, { run: `same-${program}`, steps: 7, every: 2 });
    // Some engines drop a signal that arrives before its wait.
    if (program === 'waiter') await retryUntilAccepted(() => run.signal());
    const result = await run.result();
    expect([engine.name, result.sum, result.at.length]).toEqual([engine.name, plain.sum, plain.at.length]);
    expect(ascending(result), engine.name).toBe(true);
  }
});

async function retryUntilAccepted(act: () => Promise<void>): Promise<void> {
  for (let tried = 1; ; tried += 1) {
    try {
      return await act();
    } catch (error) {
      if (tried === 50) throw error;
      await wait(100);
    }
  }
}

test('concurrent runs have the same result as a single one', async () => {
  for (const engine of engines) {
    const inputs = [1, 2, 3, 4].map((number) => ({ run: `together-${number}`, steps: 3, every: 1 }));
    const { beganAt, results } = await engine.runAll('chain', inputs, 2);
    expect(results.map(({ sum }) => sum)).toEqual([3, 3, 3, 3]);
    expect(Math.min(...results.flatMap(({ at }) => at)), engine.name).toBeGreaterThan(beganAt);
  }
});

test('the curve of a run has a point at each interval, and one for the last step', async () => {
  const [own] = engines;
  if (own === undefined) throw new Error('no engine');
  const { points } = await measureChain(own, 12, 5, 'test');
  expect(points.map(({ steps }) => steps)).toEqual([0, 5, 10, 11]);
});

test('the concurrency is bounded, and every item is processed', async () => {
  let working = 0;
  let most = 0;
  const done = await runPooled([1, 2, 3, 4, 5, 6, 7], 3, async (one) => {
    most = Math.max(most, ++working);
    await Promise.resolve();
    working -= 1;
    return one;
  });
  expect([most, new Set(done)]).toEqual([3, new Set([1, 2, 3, 4, 5, 6, 7])]);
});

test('the engines take turns in starting a round', () => {
  expect([0, 1, 2, 3].map((round) => rotate(['a', 'b', 'c'], round).join(''))).toEqual(['abc', 'bca', 'cab', 'abc']);
});

const names = ['own', 'polling'];
const samples = (engine: string, measure: string, ...values: readonly number[]): Samples => ({
  engine,
  measure,
  unit: 'ms',
  values,
});

test('the table of latencies states how much longer the polling engine takes', () => {
  const all = idleMeasures.flatMap((measure) => [
    samples('own', measure, 30, 20, 40),
    samples('polling', measure, 300, 200, 500),
  ]);
  const lines = idleTable(names, all).split('\n');
  expect(lines).toHaveLength(1 + idleMeasures.length);
  for (const line of lines.slice(1)) expect(line).toMatch(/30 \(20 to 40\) +300 \(200 to 500\) +10$/);
});

test('the table of throughput has a row for each number of runs at once', () => {
  const all = Object.keys(runsByConcurrency).flatMap((runs) => names.map((name) => samples(name, atOnce(Number(runs)), 5, 7, 6)));
  const lines = throughputTable(names, all).split('\n').slice(1);
  expect(lines.map((line) => line.trim().split(/ {2,}/))).toEqual(
    ['1', '10', '100'].map((runs) => [`${runs} at once`, '6.0 (5.0 to 7.0)', '6.0 (5.0 to 7.0)']),
  );
});

test('steps are stated in bare puts of the same run', () => {
  const rows = rowTable(['own'], {
    samples: [samples(bareName, stepMeasure, 2, 2), samples('own', stepMeasure, 5, 5)],
    chains: [],
  });
  expect(rows.split('\n').map((line) => line.trim().split(/ +/).at(-1))).toEqual(['puts', '2.5', '1.0']);
});

test('a curve is printed with its terms and its quadratic share', () => {
  const line = curveLine({ engine: 'own', steps: 1_000, points: [{ steps: 999, ms: 2_000 }], curve: { a: 0, b: 1, c: 0.001 } });
  expect(line).toBe('  own, 1000 steps in 2.0 s: T(n) = 0 ms + 1.000 ms · n + 1.0e-3 ms · n²; 50.0 % of it from n²');
});

test('samples are printed as JSON', () => {
  expect(JSON.parse(rawLines([samples('own', 'x', 1.234, 2)]))).toEqual({
    engine: 'own',
    measure: 'x',
    unit: 'ms',
    values: [1.23, 2],
  });
  expect(spread([12, 11, 19])).toBe('12 (11 to 19)');
});
