/** What a worker prints while something is not available. */
import { expect, test } from 'vitest';
import { shouldLog, toLogLine } from '../../functions/code/process.ts';
import { seconds } from '../../lib/engine/time.ts';
import { Unavailable } from '../../lib/ports/unavailable.ts';
import type { ConsumerEvent } from '../../lib/service/execution/consume-queue.ts';

const waits = (failures: number): ConsumerEvent => ({
  kind: 'backing_off',
  error: new Unavailable('the queue', { cause: new Error('ECONNREFUSED') }),
  delayMs: seconds(30),
  failures,
});

test('an outage of an hour is a few log lines, each with the number of failures', () => {
  const notes = Array.from({ length: 125 }, (_, index) => waits(index + 1));
  const lines = notes.filter(shouldLog).map(toLogLine);
  expect(lines.map(({ failures }) => failures)).toEqual([1, 2, 4, 8, 16, 32, 64]);
  expect(lines[0]).toMatchObject({ level: 'warn', message: 'the queue is not available now: retrying in 30 s' });
});

test('everything else is a line each time', () => {
  expect(shouldLog({ kind: 'started' })).toBe(true);
  expect(shouldLog({ kind: 'draining', atWork: 1, drainMs: seconds(25) })).toBe(true);
});
