/** Rows of seeds that the tests of the deep tier divide into slices. */

export interface SeedRow {
  readonly from: number;
  readonly count: number;
}

/**
 * A row of seeds in slices, each for a test of its own, so that none comes near its time limit on a busy machine.
 * @param size larger where a test counts what is rare
 */
export const slicesOf = ({ from, count }: SeedRow, size = 50): readonly SeedRow[] =>
  Array.from({ length: Math.ceil(count / size) }, (_, index) => ({
    from: from + index * size,
    count: Math.min(size, count - index * size),
  }));
