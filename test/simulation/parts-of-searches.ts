/**
 * The long searches of the deep tier are divided into parts, each in a file of its own. A part takes about a minute on an idle core, and
 * beside other files on a busy machine three times as long.
 */
import { rotatingItem } from '../tier.ts';

export const parts = 8;

/** CI's share is two of the parts. */
export const isInShare = (part: number): boolean =>
  rotatingItem([
    [1, 5],
    [2, 6],
    [3, 7],
    [4, 8],
  ])
    .flat()
    .includes(part);

interface SeedRow {
  readonly from: number;
  readonly count: number;
}

/** A row of seeds in slices, each for a test of its own: a slice takes less than half a minute on an idle core. */
export const slicesOf = ({ from, count }: SeedRow, size = 50): readonly SeedRow[] =>
  Array.from({ length: Math.ceil(count / size) }, (_, index) => ({
    from: from + index * size,
    count: Math.min(size, count - index * size),
  }));
