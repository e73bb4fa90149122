/** What a worker prints while something is not available. */
import { expect, test } from 'vitest';
import { isWorthALine, lineOf } from '../../functions/code/worker-lines.ts';
import { seconds } from '../../lib/engine/time.ts';
import { Unavailable } from '../../lib/ports/unavailable.ts';
import type { WorkNote } from '../../lib/service/work-off-queue.ts';

const waits = (failures: number): WorkNote => ({
  kind: 'waits',
  trouble: new Unavailable('the queue', { cause: new Error('ECONNREFUSED') }),
  delayMs: seconds(30),
  failures,
});

test('an hour in which the queue does not answer is a handful of lines, each with the number of failures', () => {
  const notes = Array.from({ length: 125 }, (_, index) => waits(index + 1));
  const lines = notes.filter(isWorthALine).map(lineOf);
  expect(lines.map(({ failures }) => failures)).toEqual([1, 2, 4, 8, 16, 32, 64]);
  expect(lines[0]).toMatchObject({ level: 'warn', message: 'the queue is not available now: again in 30 s' });
});

test('everything else is a line each time', () => {
  expect(isWorthALine({ kind: 'begins' })).toBe(true);
  expect(isWorthALine({ kind: 'rests', atWork: 1, drainMs: seconds(25) })).toBe(true);
});
