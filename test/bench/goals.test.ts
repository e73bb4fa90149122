import { expect, test } from 'vitest';
import { type Bill, type Line, billOf } from '../../bench/bill.ts';
import { type CountedBills, countedGoals, goalTable, missedCounts } from '../../bench/goals.ts';
import { dollarsPerMillionRuns, throughStartApi } from '../../bench/prices.ts';
import { dollarTable } from '../../bench/tables.ts';

const billWith = (...lines: readonly (readonly [Line['kind'], string, number])[]): Bill =>
  billOf(lines.map(([kind, part, amount]) => ({ kind, part, amount, by: 'api', runIds: new Set() })));

/** Four units besides one commit, a request and a queue. */
const cheap: CountedBills = {
  started: billWith(['writeUnits', 'head', 4], ['writeUnits', 'commits', 3], ['apiRequests', 'POST /v1/runs', 1]),
  answered: billWith(['writeUnits', 'head', 5], ['apiRequests', 'POST /v1/runs', 1]),
  batch: billWith(
    ['writeUnits', 'head', 50],
    ['queueRequests', 'send node queue', 10],
    ['apiRequests', 'POST /v1/runs/{runId}', 1],
  ),
  batchRuns: 10,
  waitingCalls: 4,
};

test('counts within their goals are reported as reached', () => {
  const goals = countedGoals(cheap);
  expect(missedCounts(goals)).toEqual([]);
  expect(goalTable(goals)).not.toContain('MISSED');
});

test('a packed chain counts the exact commits of the virtual clock in place of those that the machine cut', () => {
  expect(
    countedGoals(cheap)
      .slice(0, 2)
      .map(({ reached }) => reached),
  ).toEqual([5, 7]);
});

test('a run of a batch counts its part', () => {
  expect(
    countedGoals({ ...cheap, batchRuns: 5 })
      .filter(({ what }) => what.includes('in a batch'))
      .map(({ reached }) => reached),
  ).toEqual([10, 2]);
});

test('each count beyond its goal is one message, with both figures', () => {
  const dear: CountedBills = {
    ...cheap,
    answered: billWith(['writeUnits', 'head', 6], ['busEvents', 'PutEvents', 3], ['apiRequests', 'POST /v1/runs', 1]),
    waitingCalls: 5,
  };
  const goals = countedGoals(dear);
  expect(missedCounts(goals)).toEqual([
    'a million, answered in one request, through the start API: $7.75, and $7.50 is the goal',
    'write units of a run answered in one request: 6 units, and 5 units is the goal',
    'calls of a warm start that wait for each other: 5 calls, and 4 calls is the goal',
  ]);
  expect(goalTable(goals).match(/MISSED/g)).toHaveLength(3);
});

test('a time beyond its goal is in the table, and fails nothing; a count that is no number fails', () => {
  const slow = { what: 'steps', unit: 'a second', reached: 99, goal: 100, isLeast: true } as const;
  const unknown = { what: 'lost', unit: 'units', reached: Number.NaN, goal: 1 } as const;
  expect(missedCounts([slow, unknown])).toHaveLength(1);
  expect(goalTable([slow, { ...slow, reached: 100 }])).toMatch(
    /99 a second.*not reached on this machine\n.*100 a second.*reached/,
  );
});

test('through the start API, its requests cost $1.00 a million in place of $3.50, and others cost the same', () => {
  const bill = billWith(
    ['apiRequests', 'POST /v1/runs', 1],
    // The batch, which has no resource of its own in the REST API.
    ['apiRequests', 'POST /v1/runs/{runId}', 1],
    ['apiRequests', 'GET /v1/runs/{runId}', 1],
    ['apiRequests', 'GET /v1/runs', 1],
    ['apiRequests', 'GET /v1/runs/{runId}/events', 1],
    ['apiRequests', 'POST /v1/{proxy+}', 1],
    ['writeUnits', 'head', 4],
  );
  const moved = throughStartApi(bill);
  expect([Object.keys(moved.apiRequests), Object.values(moved.startApiRequests)]).toEqual([
    ['GET /v1/runs', 'GET /v1/runs/{runId}/events', 'POST /v1/{proxy+}'],
    [1, 1, 1],
  ]);
  const dollars = (of: Bill): number => dollarsPerMillionRuns(of).reduce((sum, one) => sum + one.dollars, 0);
  expect(dollars(bill) - dollars(moved)).toBeCloseTo(3 * 2.5, 10);
  expect(dollarTable([{ name: 'one', bill }])).toMatch(/through the REST API +23\.50\n.*through the start API +16\.00/);
});
