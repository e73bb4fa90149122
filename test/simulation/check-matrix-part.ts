/** Runs the crash matrix for one part of the corpus. */
import { expect } from 'vitest';
import { corpus } from './corpus.ts';
import { parts } from './parts-of-searches.ts';
import { RequestThread } from './request-thread.ts';
import { addMatrixRow, emptyMatrixRow, matrixRowSchema } from './crash-matrix.ts';

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
