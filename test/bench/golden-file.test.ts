import { expect, test } from 'vitest';
import { type Bill, billOf } from '../../bench/bill.ts';
import { differences, goldenOf } from '../../bench/golden.ts';

const bill = (changed: Partial<Bill> = {}): Bill => ({
  ...billOf([]),
  writeUnits: { head: 1, commits: 10 },
  readUnits: { head: 3 },
  ...changed,
});
const golden = goldenOf(bill(), {
  'readUnits.head': { atLeast: 1, atMost: 4 },
  'writeUnits.lost puts': { atLeast: 0, atMost: 2 },
});

test('a bill agrees with the file that was written from it', () => {
  expect(differences(golden, bill())).toEqual([]);
});

test.each([
  ['rises is reported', { writeUnits: { head: 1, commits: 11 } }, ['writeUnits.commits is 11, but was 10']],
  ['falls is reported', { writeUnits: { head: 1, commits: 9 } }, ['writeUnits.commits is 9, but was 10']],
  ['is new is reported', { schedules: { 'fired once': 1 } }, ['schedules.fired once is 1, but was 0']],
  ['is missing is reported', { writeUnits: { commits: 10 } }, ['writeUnits.head is 0, but was 1']],
  ['leaves its bounds is reported', { readUnits: { head: 5 } }, ['readUnits.head is 5, but must be from 1 to 4']],
  [
    'leaves the bounds of an optional count is reported',
    { writeUnits: { head: 1, commits: 10, 'lost puts': 3 } },
    ['writeUnits.lost puts is 3, but must be from 0 to 2'],
  ],
  ['stays within its bounds is not reported', { readUnits: { head: 4 } }, []],
  ['is a duration is not reported', { gbSeconds: { worker: 5 } }, []],
] satisfies readonly (readonly [string, Partial<Bill>, readonly string[]])[])('a count that %s', (_name, changed, reported) => {
  expect(differences(golden, bill(changed))).toEqual(reported);
});
