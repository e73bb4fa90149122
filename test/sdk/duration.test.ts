/** Durations as authors write them. */
import { expect, test } from 'vitest';
import { parseDuration } from '../../lib/sdk/duration.ts';

test.each([
  [250, 250],
  ['250', 250],
  ['0', 0],
  ['1ms', 1],
  ['30s', 30_000],
  ['5 min', 300_000],
  ['1h', 3_600_000],
  ['1.5 days', 129_600_000],
  ['.5d', 43_200_000],
  ['2 Weeks', 1_209_600_000],
  ['1 month', 2_629_800_000],
  ['1MO', 2_629_800_000],
  ['1y', 31_557_600_000],
  ['2 years', 63_115_200_000],
])('%s is parsed to milliseconds', (text, ms) => {
  expect(parseDuration(text)).toBe(ms);
});

test.each(['', 'soon', '1 fortnight', '1h30m', '-1s', '1e3', ' 1h', '1 toString', Number.NaN, Infinity, -1, null, undefined, {}])(
  '%s is none, and the error says it',
  (given) => {
    expect(() => parseDuration(given)).toThrow(TypeError);
    expect(() => parseDuration(given)).toThrow(JSON.stringify(given) ?? 'undefined');
  },
);
