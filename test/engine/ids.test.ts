/** Names and numbers become ids at one door each, which turns away what none of them can be; and so do times. */
import { expect, test } from 'vitest';
import { attempt, commitNo, eventId, runId } from '../../lib/engine/ids.ts';
import { durationMs, earliest, instant, seconds } from '../../lib/engine/time.ts';

test.each([0, -1, 1.5, Number.NaN, Infinity, 2 ** 53])('%d is no number of a commit, an event or an attempt', (value) => {
  for (const made of [commitNo, eventId, attempt]) expect(() => made(value)).toThrow(String(value));
});

test('numbers count from 1', () => {
  expect([commitNo(1), eventId(2), attempt(2 ** 53 - 1)]).toEqual([1, 2, 2 ** 53 - 1]);
});

test('what is refused is named', () => {
  expect(() => runId('wrun_short')).toThrow('"wrun_short"');
});

test.each([-1, -0.001, Number.NaN, Infinity])('%d is no duration', (ms) => {
  expect(() => durationMs(ms)).toThrow(`a duration must be 0 or more, and is ${ms}`);
});

test.each([Number.NaN, Infinity, -Infinity])('%d is no instant', (ms) => {
  expect(() => instant(ms)).toThrow(`an instant must be a finite number, and is ${ms}`);
});

test('an instant is a whole millisecond, and of several the earliest is found', () => {
  expect(instant(7.9)).toBe(7);
  expect(earliest([instant(9), instant(3), instant(5)])).toBe(3);
  expect(earliest([])).toBeUndefined();
  expect(seconds(0)).toBe(0);
});
