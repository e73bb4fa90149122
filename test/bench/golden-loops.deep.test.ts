/** The bill of a loop of a thousand passes, counted on the embedded cloud and compared with `bench/golden`. */
import { expect, test } from 'vitest';
import { total } from '../../bench/bill.ts';
import { slowScenarios } from '../../bench/scenarios.ts';
import { countedCloud, isGolden } from './counted-cloud.ts';

const packed = ['loop-100', 'loop-1000'] as const;
const effects = ['loop-100-of-effects', 'loop-1000-of-effects'] as const;
const long = effects[1];
const names: readonly string[] = [...packed, ...effects];
const billFor = countedCloud(slowScenarios.filter(({ name }) => names.includes(name)));

test.each([packed[1], long])('the bill of %s is the golden one', (name) => {
  isGolden(name, billFor(name));
});

test('a thousand passes that share commits cost six units besides their commits, and three queue requests', () => {
  const { writeUnits, queueRequests } = billFor(packed[1]);
  expect(total(writeUnits, ['rate windows']) - (writeUnits['commits'] ?? 0)).toBe(6);
  expect(total(queueRequests)).toBe(3);
});

test('a thousand passes, one after the other, cost a commit for each and one for the node before, and three queue requests', () => {
  const { writeUnits, commits, queueRequests } = billFor(long);
  expect([total(commits), total(queueRequests)]).toEqual([1_001, 3]);
  // Every hundredth commit offloads the results of a hundred iterations. Some of these commits cost a unit more.
  expect(total(writeUnits, ['rate windows'])).toBeLessThanOrEqual(1_017);
});

test.each([packed, effects])('a sequential iteration reads nothing, in %s as in %s', (short, longest) => {
  const reads = (name: string) => total(billFor(name).readUnits, ['api keys', 'workflow']);
  expect(reads(longest) - reads(short)).toBe(0);
});
