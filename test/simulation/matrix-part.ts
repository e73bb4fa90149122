/** Each workflow of a part of the corpus in the crash matrix. The parts run beside each other. */
import { expect } from 'vitest';
import { corpus } from './corpus.ts';
import { addRow, emptyRow, matrixOf } from './crash-matrix.ts';

const parts = 2;

/** Every second workflow, so that the parts are about as long. @throws an assertion with all violations */
export async function holdInTheMatrix(part: number): Promise<void> {
  const all = emptyRow();
  const own = Object.values(corpus)
    .flat()
    .filter((_fixed, index) => index % parts === part - 1);
  for (const fixed of own) addRow(all, await matrixOf(fixed));
  expect(all.violations).toEqual([]);
  expect(all.workflows).toBeGreaterThan(100);
  // Every call of every workflow, once before and once after it.
  expect([all.struck, all.crashes]).toEqual([all.calls * 2, all.calls * 2]);
  expect(all.compared).toBeGreaterThan(all.crashes * 0.7);
}
