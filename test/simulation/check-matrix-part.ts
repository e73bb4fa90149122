/** Runs the crash matrix for one part of the corpus. */
import { expect } from 'vitest';
import { rotatingItem } from '../tier.ts';
import { corpus } from './corpus.ts';
import { RequestThread } from './request-thread.ts';
import { addMatrixRow, emptyMatrixRow, matrixRowSchema } from './crash-matrix.ts';

/** A part takes about a minute on an idle core, and beside other files on a busy machine three times as long. */
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

/** Every eighth workflow, so that the parts are about as long. @throws an assertion with all violations */
export async function checkMatrixPart(part: number): Promise<void> {
  const all = emptyMatrixRow();
  const own = Object.entries(corpus)
    .flatMap(([group, fixed]) => fixed.map((_fixed, index) => ({ group, index, maxCallsForPairs: 0 })))
    .filter((_asked, index) => index % parts === part - 1);
  await using thread = new RequestThread(new URL('./matrix-thread.ts', import.meta.url), matrixRowSchema);
  for (const asked of own) addMatrixRow(all, await thread.request(asked));
  expect(all.violations).toEqual([]);
  expect(all.workflows).toBe(own.length);
  expect(all.workflows).toBeGreaterThan(50);
  // Every call of every workflow, once before and once after it.
  expect([all.struck, all.crashes]).toEqual([all.calls * 2, all.calls * 2]);
  expect(all.compared).toBeGreaterThan(all.crashes * 0.7);
}
