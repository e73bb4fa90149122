/** Rows of seeds that the tests of the deep tier divide into slices. */

export interface SeedRow {
  readonly from: number;
  readonly count: number;
}

/** A row of seeds in slices, each for a test of its own: a slice takes less than half a minute on an idle core. */
export const slicesOf = ({ from, count }: SeedRow, size = 50): readonly SeedRow[] =>
  Array.from({ length: Math.ceil(count / size) }, (_, index) => ({
    from: from + index * size,
    count: Math.min(size, count - index * size),
  }));
