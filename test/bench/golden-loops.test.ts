/** The bills of loops of growing length and of a lens that speaks, counted on the embedded cloud and held against `bench/golden`. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BenchCloud, startBenchCloud } from '../../bench/bench-cloud.ts';
import { type Bill, total } from '../../bench/bill.ts';
import { differences, readGolden } from '../../bench/golden.ts';
import { count, slowScenarios } from '../../bench/scenarios.ts';
import { spoken } from '../../bench/workflows.ts';
import { type Write, mostInASecond, writesIn } from '../../bench/write-times.ts';
import { readyFolder } from '../e2e/local-start.ts';

const directory = readyFolder(mkdtempSync(join(tmpdir(), 'stepwell-golden-')));
const warnings: string[] = [];
const bills = new Map<string, Bill>();
const writes: Write[] = [];
let bench: BenchCloud;

beforeAll(async () => {
  bench = await startBenchCloud(directory, (line) => void warnings.push(line));
  bench.cloud.recorder.listen((call) => void writes.push(...writesIn(call)));
  for (const scenario of slowScenarios) bills.set(scenario.name, await count(bench, scenario));
}, 300_000);
afterAll(async () => {
  await bench.stop();
  rmSync(directory, { recursive: true, force: true });
});

const billFor = (name: string): Bill => {
  const bill = bills.get(name);
  if (bill === undefined) throw new Error(`${name} was not counted`);
  return bill;
};

/** What a lens costs that speaks for seconds of real time moves a little with the machine: what is promised of it is held below. */
const exact = slowScenarios.map(({ name }) => name).filter((name) => name !== spoken.name);

test.each(exact)('the bill of %s is the golden one', (name) => {
  expect(differences(readGolden(name) ?? {}, billFor(name)), 'a change on purpose: npm run bench -- --write-golden').toEqual([]);
});

test.each([
  ['loop-10', 10],
  ['loop-100', 100],
  ['loop-1000', 1_000],
])(
  '%s, one pass after the other, costs a commit for each pass and one for the node before, and three queue requests',
  (name, passes) => {
    const { writeUnits, commits, queueRequests } = billFor(name);
    expect([total(commits), total(queueRequests)]).toEqual([passes + 1, 3]);
    // In every hundredth commit the results of a hundred passes are put away: some of those weigh a unit more.
    expect(total(writeUnits, ['rate windows'])).toBeLessThanOrEqual(passes * 1.01 + 7);
  },
);

test('a pass that is alone reads nothing, in a long loop as in a short one', () => {
  const reads = (name: string) => total(billFor(name).readUnits, ['api keys', 'workflow']);
  expect([reads('loop-100') - reads('loop-10'), reads('loop-1000') - reads('loop-100')]).toEqual([0, 0]);
});

test('a lens that says 2,000 tokens at 400 a second takes at most 25 writes, and at most four in any second of its stream', () => {
  const { writeUnits, commits } = billFor(spoken.name);
  expect((writeUnits['streams'] ?? 0) + total(commits)).toBeLessThanOrEqual(25);
  const runs = [...Map.groupBy(writes, ({ runId }) => runId).values()];
  const speaking = runs.filter((ofRun) => ofRun.some(({ kind }) => kind === 'delta'));
  expect(speaking).toHaveLength(2);
  for (const ofRun of speaking) {
    const ended = ofRun.findLast(({ kind }) => kind === 'commit');
    expect(ofRun.filter(({ kind }) => kind === 'delta').length).toBeGreaterThan(13);
    // The commit that says it has begun is one of the stream's writes. The one that ends the node, and the stream with it, waits for nothing.
    expect(mostInASecond(ofRun.flatMap((write) => (write === ended ? [] : [write.at])))).toBeLessThanOrEqual(4);
  }
});

test('nothing was denied and nothing failed meanwhile', () => {
  expect(warnings).toEqual([]);
});
