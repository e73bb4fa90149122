/** The bills of runs of a thousand nodes, counted on the embedded cloud and compared with the files of `bench/golden`. */
import { expect, test } from 'vitest';
import { total } from '../../bench/bill.ts';
import { scenarios } from '../../bench/scenarios.ts';
import { countedCloud, isGolden } from './counted-cloud.ts';

const shortest = 'chain-10';
const billFor = countedCloud(scenarios.filter(({ name, isLong = false }) => isLong || name === shortest));

test.each(scenarios.flatMap(({ name, isLong = false }) => (isLong ? [name] : [])))('the bill of %s is the golden one', (name) => {
  isGolden(name, billFor(name));
});

test('chain-1000-of-effects costs one commit for each executed node and six units around them, and three queue requests', () => {
  const { writeUnits, commits, queueRequests } = billFor('chain-1000-of-effects');
  expect(total(writeUnits, ['rate windows'])).toBe(1_006);
  expect([total(commits), total(queueRequests)]).toEqual([1_000, 3]);
});

test('chain-1000 costs six units besides its commits, and three queue requests', () => {
  const { writeUnits, queueRequests } = billFor('chain-1000');
  expect(total(writeUnits, ['rate windows']) - (writeUnits['commits'] ?? 0)).toBe(6);
  expect(total(queueRequests)).toBe(3);
});

test('code-1000, steps of code one after the other, costs one commit more than it has steps', () => {
  const { writeUnits, commits, queueRequests } = billFor('code-1000');
  expect(total(commits)).toBe(1_001);
  expect([writeUnits['commits'], total(queueRequests)]).toEqual([1_001, 3]);
});

test('the reads of each node of a chain do not grow with its length', () => {
  const reads = (name: string) => total(billFor(name).readUnits, ['api keys']);
  expect(reads('chain-1000')).toBe(reads(shortest));
});

test('a thousand branches that end together are joined in at most 220 commits, and lose at most 10 puts', () => {
  const { commits, writeUnits } = billFor('fan-1000-together');
  expect(total(commits)).toBeLessThanOrEqual(220);
  expect(writeUnits['lost puts'] ?? 0).toBeLessThanOrEqual(10);
});
