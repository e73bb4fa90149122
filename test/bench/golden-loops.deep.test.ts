/** The bill of a loop of a thousand passes, counted on the embedded cloud and compared with `bench/golden`. */
import { expect, test } from 'vitest';
import { total } from '../../bench/bill.ts';
import { slowScenarios } from '../../bench/scenarios.ts';
import { countedCloud, isGolden } from './counted-cloud.ts';

const [short, long] = ['loop-100', 'loop-1000'] as const;
const billFor = countedCloud(slowScenarios.filter(({ name }) => name === short || name === long));

test('the bill is the golden one', () => {
  isGolden(long, billFor(long));
});

test('a thousand passes, one after the other, cost a commit for each and one for the node before, and three queue requests', () => {
  const { writeUnits, commits, queueRequests } = billFor(long);
  expect([total(commits), total(queueRequests)]).toEqual([1_001, 3]);
  // Every hundredth commit offloads the results of a hundred iterations. Some of these commits cost a unit more.
  expect(total(writeUnits, ['rate windows'])).toBeLessThanOrEqual(1_017);
});

test('a sequential iteration reads nothing, in a long loop as in a short one', () => {
  const reads = (name: string) => total(billFor(name).readUnits, ['api keys', 'workflow']);
  expect(reads(long) - reads(short)).toBe(0);
});
