/** The constructors of ids, numbers and times reject invalid values. */
import { expect, test } from 'vitest';
import { attempt, commitNo, eventId, runId } from '../../lib/engine/ids.ts';
import { durationMs, earliest, instant, seconds } from '../../lib/engine/time.ts';

test.each([0, -1, 1.5, Number.NaN, Infinity, 2 ** 53])('%d is not a commit number, event id or attempt', (value) => {
  for (const made of [commitNo, eventId, attempt]) expect(() => made(value)).toThrow(String(value));
});

test('numbers count from 1', () => {
  expect([commitNo(1), eventId(2), attempt(2 ** 53 - 1)]).toEqual([1, 2, 2 ** 53 - 1]);
});

test('the error names the rejected value', () => {
  expect(() => runId('wrun_short')).toThrow('"wrun_short"');
});

test.each([-1, -0.001, Number.NaN, Infinity])('%d is not a duration', (ms) => {
  expect(() => durationMs(ms)).toThrow(`a duration must be 0 or more, and is ${ms}`);
});

test.each([Number.NaN, Infinity, -Infinity])('%d is not an instant', (ms) => {
  expect(() => instant(ms)).toThrow(`an instant must be a finite number, and is ${ms}`);
});

test('an instant is a whole millisecond, and `earliest` finds the first of several', () => {
  expect(instant(7.9)).toBe(7);
  expect(earliest([instant(9), instant(3), instant(5)])).toBe(3);
  expect(earliest([])).toBeUndefined();
  expect(seconds(0)).toBe(0);
});
