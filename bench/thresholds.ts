/** The times that the bench holds the product to, on whatever machine it runs: it ends with an error where one is missed. */
import { quantilesOf } from './quantiles.ts';

/** Milliseconds from a word's being said to its being read, by the median. */
const maxToReaderMs = 400;
/** Of `time per node = a · length^b`: what machines scatter by, and far below what a node costs that reads the run so far. */
const maxGrowth = 0.15;

/** Small runs beside endless loops of their own project, by the median. Without shares it was several hundred. */
const maxBesideEndless = 3;

export interface Measured {
  /** the exponents by the kind of run */
  readonly growths: Readonly<Record<string, number>>;
  readonly wordMs: readonly number[];
  /** the median of small runs beside scripts that never end, as a multiple of that without them */
  readonly besideEndless: number;
}

/** One sentence for each that was missed. */
export function missedThresholds({ growths, wordMs, besideEndless }: Measured): readonly string[] {
  const { p50 } = quantilesOf(wordMs);
  return [
    ...Object.entries(growths).flatMap(([kind, exponent]) =>
      exponent <= maxGrowth
        ? []
        : [`a node of a ${kind} costs its run's length to the power of ${exponent.toFixed(2)}, and ${maxGrowth} is the most`],
    ),
    ...(besideEndless <= maxBesideEndless
      ? []
      : [
          `small runs take ${besideEndless.toFixed(1)} times as long beside scripts that never end, and ${maxBesideEndless} is the most`,
        ]),
    ...(p50 <= maxToReaderMs
      ? []
      : [`a word reaches its reader after ${Math.round(p50)} ms by the median, and ${maxToReaderMs} is the most`]),
  ];
}
