/** The raw samples, from which every reported figure can be recomputed. */
import { quantilesOf } from '../quantiles.ts';

export interface Samples {
  readonly engine: string;
  readonly measure: string;
  readonly unit: 'ms' | 'steps/s' | 'times';
  readonly values: readonly number[];
}

/** The median and the range. */
export function spread(values: readonly number[]): string {
  const { p50, max } = quantilesOf(values);
  return `${amount(p50)} (${amount(Math.min(...values))} to ${amount(max)})`;
}

export const amount = (value: number): string => (Math.abs(value) < 10 ? value.toFixed(1) : value.toFixed(0));

/** One line for each sample, in a machine-readable format. */
export const rawLines = (all: readonly Samples[]): string =>
  all
    .map((samples) => JSON.stringify({ ...samples, values: samples.values.map((value) => Number(value.toFixed(2))) }))
    .join('\n');

export const samplesOf = (all: readonly Samples[], engine: string, measure: string): readonly number[] =>
  all.flatMap((samples) => (samples.engine === engine && samples.measure === measure ? samples.values : []));
