/** The bills of docs/BENCH.md, counted on the embedded cloud and compared with the files of `bench/golden`. The longest: `golden-counts.deep.test.ts`. */
import { expect, test } from 'vitest';
import { total } from '../../bench/bill.ts';
import { batchStarts, endsPublished, scenarios, scenariosWithEndsPublished } from '../../bench/scenarios.ts';
import { type StartCost, countStarts, startGoldenName } from '../../bench/start-cost.ts';
import { asBundled } from '../e2e/in-process-cloud.ts';
import { countedCloud, isGolden } from './counted-cloud.ts';

const short = scenarios.filter(({ isLong = false }) => !isLong);
let starts: readonly StartCost[];
const billFor = countedCloud(short, {
  after: async (bench) => {
    starts = await countStarts(bench);
  },
});

test.each(short.map(({ name }) => name))('the bill of %s is the golden one', (name) => {
  isGolden(name, billFor(name));
});

const billWithEndsPublished = countedCloud(scenariosWithEndsPublished, { settings: { ...endsPublished, ...asBundled } });

test('a run that completes publishes its end only where the owner asks for each end; a failed run always does', () => {
  const published = { PutEvents: 1 };
  expect([billFor('chain-10').busEvents, billFor('chain-10-failed').busEvents]).toEqual([{}, published]);
  for (const { name } of scenariosWithEndsPublished) {
    isGolden(name, billWithEndsPublished(name));
    expect(billWithEndsPublished(name).busEvents).toEqual(published);
  }
});

test.each([
  ['chain-10-of-effects', 10, 10],
  ['chain-100-of-effects', 100, 100],
  ['chain-10-with-ends', 10, 8],
])(
  '%s costs one commit for each executed node with side effects and six units around them, and three queue requests',
  (name, _nodes, executed) => {
    const { writeUnits, commits, queueRequests } = billFor(name);
    expect(total(writeUnits, ['rate windows'])).toBe(executed + 6);
    expect([total(commits), total(queueRequests)]).toEqual([executed, 3]);
  },
);

test.each(['chain-10', 'chain-100'])('%s costs five units besides its commits and its end, and three queue requests', (name) => {
  const { writeUnits, queueRequests } = billFor(name);
  expect([total(writeUnits, ['rate windows', 'commits', 'end']), writeUnits['end']]).toEqual([5, 1]);
  expect(total(queueRequests)).toBe(3);
});

test.each([
  ['code-10', 10],
  ['code-100', 100],
])('%s, steps of code one after the other, costs one commit more than it has steps', (name, steps) => {
  const { writeUnits, commits, queueRequests } = billFor(name);
  expect(total(commits)).toBe(steps + 1);
  expect([writeUnits['commits'], total(queueRequests)]).toEqual([steps + 1, 3]);
});

test.each(['code-10-idempotent', 'code-100-idempotent'])('%s, idempotent steps in a row, shares commits', (name) => {
  expect(total(billFor(name).queueRequests)).toBe(3);
});

test('a rerun of code from the last of a hundred steps costs one commit besides those of its own step', () => {
  const { commits } = billFor('code-100-from-the-last');
  expect(total(commits)).toBe(3);
});

test('five calls of code by code have no messages: one process executes all', () => {
  const { queueRequests, invocations } = billFor('code-5-calls');
  expect([total(queueRequests), invocations['code'], invocations['world']]).toEqual([3, 1, 10]);
});

test('ten steps of code that begin together begin in one commit', () => {
  expect(total(billFor('code-10-together').commits)).toBeLessThanOrEqual(2);
});

test.each(['cold', 'warm'] as const)(
  'a start with a key that is %s costs as much as its golden file: at most 5 writes and 2 reads',
  (key) => {
    const bill = starts.find((one) => one.key === key)?.bill;
    if (bill === undefined) throw new Error(`${key} was not counted`);
    isGolden(startGoldenName(key), bill);
    expect(total(bill.writeUnits, ['rate windows'])).toBeLessThanOrEqual(5);
    expect(total(bill.readUnits)).toBeLessThanOrEqual(2);
    expect(bill.readUnits['api keys'] ?? 0).toBe(key === 'cold' ? 1 : 0);
  },
);

test('a start of a batch of ten costs a tenth of an audit entry, of a due entry and of a queue request', () => {
  const bill = starts.find((one) => one.key === 'batch')?.bill;
  if (bill === undefined) throw new Error('the batch was not counted');
  isGolden(startGoldenName('batch'), bill);
  expect(total(bill.queueRequests)).toBe(1);
  expect(total(bill.writeUnits, ['rate windows'])).toBe(3 * batchStarts + 2);
});

test('ten scripts that are answered in one request cost at most eight units and no queue request', () => {
  const { writeUnits, queueRequests, apiRequests } = billFor('chain-10-answered');
  expect(total(writeUnits, ['rate windows'])).toBeLessThanOrEqual(8);
  expect([total(queueRequests), total(apiRequests)]).toEqual([0, 1]);
  expect(total(billFor('code-10-answered').queueRequests)).toBe(0);
});

test('the reads of each node of a chain do not grow with its length', () => {
  const reads = (name: string) => total(billFor(name).readUnits, ['api keys']);
  expect(reads('chain-100')).toBe(reads('chain-10'));
});

test('a hundred branches that end together are joined in at most 25 commits', () => {
  expect(total(billFor('fan-100-together').commits)).toBeLessThanOrEqual(25);
});

test.each(['fan-100-together', 'fan-100-scattered'])('%s loses no put', (name) => {
  expect(billFor(name).writeUnits['lost puts'] ?? 0).toBe(0);
});
