import { expect, test } from 'vitest';
import { missedThresholds } from '../../bench/thresholds.ts';

const latencies = (ms: number): readonly number[] => [ms, 10, 20, ms, ms];

test('measurements within the thresholds are not reported', () => {
  expect(missedThresholds({ growths: { chain: -0.04, loop: 0.15 }, wordMs: latencies(400), besideEndless: 3 })).toEqual([]);
});

test('a cost that grows with the run is reported, for each kind of run', () => {
  expect(missedThresholds({ growths: { chain: 0.16, loop: 1 }, wordMs: latencies(1), besideEndless: 1 })).toEqual([
    "a node of a chain costs its run's length to the power of 0.16, and 0.15 is the most",
    "a node of a loop costs its run's length to the power of 1.00, and 0.15 is the most",
  ]);
});

test('a median latency of tokens above the threshold is reported', () => {
  expect(missedThresholds({ growths: {}, wordMs: latencies(401), besideEndless: 1 })).toEqual([
    'a word reaches its reader after 401 ms by the median, and 400 is the most',
  ]);
});

test('missing measurements do not pass', () => {
  expect(missedThresholds({ growths: { loop: Number.NaN }, wordMs: [], besideEndless: 1 })).toHaveLength(2);
});

test('small runs beside endless scripts take at most three times as long', () => {
  expect(missedThresholds({ growths: {}, wordMs: latencies(1), besideEndless: 3.2 })).toEqual([
    'small runs take 3.2 times as long beside scripts that never end, and 3 is the most',
  ]);
});
