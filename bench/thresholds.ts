/** Thresholds of the bench on any machine. The bench fails if one is exceeded. */
import { quantilesOf } from './quantiles.ts';

/** Median milliseconds from writing a word to reading it. */
const maxToReaderMs = 400;
/** Of `time per node = a · length^b`: above the variation between machines, and far below a node that reads its whole run. */
const maxGrowth = 0.15;

/** Median slowdown of small runs beside endless loops of their project. Without shares it was several hundred. */
const maxBesideEndless = 3;

export interface Measured {
  /** exponents by kind of run */
  readonly growths: Readonly<Record<string, number>>;
  readonly wordMs: readonly number[];
  /** median duration of small runs beside endless scripts, as a multiple of that without them */
  readonly besideEndless: number;
}

/** One message for each exceeded threshold. */
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
