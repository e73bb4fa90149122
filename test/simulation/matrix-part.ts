/** Each workflow of a part of the corpus in the crash matrix. The parts run beside each other. */
import { expect } from 'vitest';
import { corpus } from './corpus.ts';
import { AskedThread } from './asked-thread.ts';
import { addRow, emptyRow, rowSchema } from './crash-matrix.ts';

const parts = 2;

/** Every second workflow, so that the parts are about as long. @throws an assertion with all violations */
export async function holdInTheMatrix(part: number): Promise<void> {
  const all = emptyRow();
  const own = Object.entries(corpus)
    .flatMap(([group, fixed]) => fixed.map((_fixed, index) => ({ group, index, mostCallsForPairs: 0 })))
    .filter((_asked, index) => index % parts === part - 1);
  await using thread = new AskedThread(new URL('./matrix-thread.ts', import.meta.url), rowSchema);
  for (const asked of own) addRow(all, await thread.ask(asked));
  expect(all.violations).toEqual([]);
  expect(all.workflows).toBeGreaterThan(100);
  // Every call of every workflow, once before and once after it.
  expect([all.struck, all.crashes]).toEqual([all.calls * 2, all.calls * 2]);
  expect(all.compared).toBeGreaterThan(all.crashes * 0.7);
}
