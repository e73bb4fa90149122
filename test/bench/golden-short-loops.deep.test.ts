/** The bills of loops of growing length and of a lens that streams, counted on the embedded cloud and compared with `bench/golden`. The longest: `golden-loops.deep.test.ts`. */
import { expect, test } from 'vitest';
import { total } from '../../bench/bill.ts';
import { slowScenarios } from '../../bench/scenarios.ts';
import { fastLensWorkflow } from '../../bench/workflows.ts';
import { type Write, maxPerSecond, writesIn } from '../../bench/write-times.ts';
import { countedCloud, isGolden } from './counted-cloud.ts';

const writes: Write[] = [];
const short = slowScenarios.filter(({ isLong = false }) => !isLong);
const billFor = countedCloud(short, {
  before: ({ cloud }) => void cloud.recorder.listen((call) => void writes.push(...writesIn(call))),
});

/** The bill of a lens that streams for seconds of real time varies with the machine. Its limits are tested below. */
const exact = short.map(({ name }) => name).filter((name) => name !== fastLensWorkflow.name);

test.each(exact)('the bill of %s is the golden one', (name) => {
  isGolden(name, billFor(name));
});

test.each([
  ['loop-10-of-effects', 10],
  ['loop-100-of-effects', 100],
])(
  '%s, one pass after the other, costs a commit for each pass and one for the node before, and three queue requests',
  (name, passes) => {
    const { writeUnits, commits, queueRequests } = billFor(name);
    expect([total(commits), total(queueRequests)]).toEqual([passes + 1, 3]);
    // Every hundredth commit offloads the results of a hundred iterations. Some of these commits cost a unit more.
    expect(total(writeUnits, ['rate windows'])).toBeLessThanOrEqual(passes * 1.01 + 7);
  },
);

test('a sequential iteration reads nothing', () => {
  const reads = (name: string) => total(billFor(name).readUnits, ['api keys', 'workflow']);
  expect(reads('loop-100') - reads('loop-10')).toBe(0);
});

test('a lens that streams 2,000 tokens at 400 a second takes at most 25 writes, and at most four in any second of its stream', () => {
  const { writeUnits, commits } = billFor(fastLensWorkflow.name);
  expect((writeUnits['streams'] ?? 0) + total(commits)).toBeLessThanOrEqual(25);
  const runs = [...Map.groupBy(writes, ({ runId }) => runId).values()];
  const speaking = runs.filter((ofRun) => ofRun.some(({ kind }) => kind === 'delta'));
  expect(speaking).toHaveLength(2);
  for (const ofRun of speaking) {
    const ended = ofRun.findLast(({ kind }) => kind === 'commit');
    expect(ofRun.filter(({ kind }) => kind === 'delta').length).toBeGreaterThan(13);
    // The commit that records the beginning is one of the stream's writes. The commit that ends the node and its stream does not wait.
    expect(maxPerSecond(ofRun.flatMap((write) => (write === ended ? [] : [write.at])))).toBeLessThanOrEqual(4);
  }
});
