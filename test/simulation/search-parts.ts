/**
 * How the deep tier divides its longest searches: into parts, each in a file of its own, and a part into slices, each a test of its own. A
 * slice ends far from its time limit on a busy machine.
 */
import { rotatingItem } from '../tier.ts';

export const parts = 4;

/** CI's share is one of the parts. */
export const isInShare = (part: number): boolean => rotatingItem([1, 2, 3, 4]).includes(part);

export interface SeedRow {
  readonly from: number;
  readonly count: number;
}

/** @param size larger where a test counts what is rare */
export const slicesOf = ({ from, count }: SeedRow, size = 50): readonly SeedRow[] =>
  Array.from({ length: Math.ceil(count / size) }, (_, index) => ({
    from: from + index * size,
    count: Math.min(size, count - index * size),
  }));
