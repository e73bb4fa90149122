/** The delays of the latency bench, and its table. */
import { expect, test } from 'vitest';
import { createDraws } from '../../bench/aws-delays.ts';
import { pathTable } from '../../bench/latency-report.ts';
import { pathNames } from '../../bench/path-latency.ts';

const take = (draw: () => number, count: number): readonly number[] => Array.from({ length: count }, draw);

test('two benches draw the same delays, and each kind of call has draws of its own', () => {
  const first = take(createDraws('aws put', 6), 20);
  expect(take(createDraws('aws put', 6), 20)).toEqual(first);
  expect(take(createDraws('aws get', 6), 20)).not.toEqual(first);
});

test('the draws are lognormal with the median and sigma 0.4', () => {
  const logs = take(createDraws('aws put', 6), 20_000).map(Math.log);
  const mean = logs.reduce((sum, each) => sum + each, 0) / logs.length;
  const variance = logs.reduce((sum, each) => sum + (each - mean) ** 2, 0) / logs.length;
  expect(Math.exp(mean)).toBeCloseTo(6, 1);
  expect(Math.sqrt(variance)).toBeCloseTo(0.4, 2);
});

test('a path above its goal is named as such, and one without a golden file as not counted', () => {
  const timesOf = (ms: number) => ({
    'trigger → first node': [ms],
    'node → node, with side effects': [ms],
    'signal → wake': [ms],
    'child → parent, graph': [ms],
    'child → parent, code': [ms],
  });
  const lines = pathTable(timesOf(85), timesOf(3), { 'signal → wake': [[], []] }).split('\n');
  expect(lines).toHaveLength(pathNames.length + 1);
  expect(lines[1]).toMatch(/trigger → first node .* 85 ms .* 90 ms .* reached .* not counted/);
  expect(lines[3]).toMatch(/signal → wake .* 85 ms .* 80 ms .* above the goal .* 2 /);
});
