import { expect, test } from 'vitest';
import { dueBy } from '../../bench/bench-cloud.ts';

test('a run is idle although a message is delayed beyond the time limit of the wait', () => {
  const until = 120_000;
  expect(dueBy(until, [860_000])).toBe(0);
  expect(dueBy(until, [5_000, 120_000, 860_000])).toBe(2);
});
