/** Formats the measurements of all engines as text. */
import { quantilesOf } from '../quantiles.ts';
import { table } from '../tables.ts';
import type { Engine } from './engine.ts';
import { quadraticShare } from './fit.ts';
import { idleMeasures } from './idle-latency.ts';
import { type Samples, amount, samplesOf, spread } from './samples.ts';
import { type LongChain, type Rows, bareName, stepMeasure } from './steps-in-a-row.ts';
import { atOnce, runsByConcurrency } from './throughput.ts';

export const engineTable = (engines: readonly Pick<Engine, 'name' | 'persistence'>[]): string =>
  engines.map(({ name, persistence }) => `  ${name}\n    keeps its steps in ${persistence}`).join('\n');

/** A row for each measure, a column for each engine, and the ratio of the polling engine to the first. */
export function idleTable(names: readonly string[], all: readonly Samples[]): string {
  const [baseline = '', polling = ''] = names;
  return table([
    ['ms, p50 (range)', ...names, `${polling} / ${baseline}`],
    ...idleMeasures.map((measure) => {
      const median = (name: string): number => quantilesOf(samplesOf(all, name, measure)).p50;
      const cells = names.map((name) => spread(samplesOf(all, name, measure)));
      return [measure, ...cells, amount(median(polling) / median(baseline))];
    }),
  ]);
}

export const throughputTable = (names: readonly string[], all: readonly Samples[]): string =>
  table([
    ['steps in a second, median (range)', ...names],
    ...Object.keys(runsByConcurrency).map((runs) => [
      atOnce(Number(runs)),
      ...names.map((name) => spread(samplesOf(all, name, atOnce(Number(runs))))),
    ]),
  ]);

export function rowTable(names: readonly string[], { samples }: Rows): string {
  const bare = quantilesOf(samplesOf(samples, bareName, stepMeasure)).p50;
  return table([
    ['step → step', 'measured', 'p50', 'p99', 'most', 'in bare puts'],
    ...[...names, bareName].map((name) => {
      const { count, p50, p99, max } = quantilesOf(samplesOf(samples, name, stepMeasure));
      return [name, String(count), ...[p50, p99, max].map((ms) => `${amount(ms)} ms`), amount(p50 / bare)];
    }),
  ]);
}

export const curveLine = ({ engine, steps, points, curve }: LongChain): string => {
  const seconds = (points.at(-1)?.ms ?? Number.NaN) / 1_000;
  const { a, b, c } = curve;
  const fitted = `T(n) = ${a.toFixed(0)} ms + ${b.toFixed(3)} ms · n + ${c.toExponential(1)} ms · n²`;
  return `  ${engine}, ${steps} steps in ${seconds.toFixed(1)} s: ${fitted}; ${(quadraticShare(curve, steps) * 100).toFixed(1)} % of it from n²`;
};
