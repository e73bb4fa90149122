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
