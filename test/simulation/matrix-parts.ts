/** Runs the crash matrix for one part of the corpus. */
import { describe, expect, test } from 'vitest';
import { corpus } from './corpus.ts';
import { RequestThread } from './request-thread.ts';
import { addMatrixRow, emptyMatrixRow, matrixRowSchema } from './crash-matrix.ts';
import { isInShare, parts } from './search-parts.ts';

/** Workflows of a slice: it takes less than half a minute on an idle core. */
const sliceSize = 40;

/** Every fourth workflow, so that the parts are about as long. */
export function testPartOfMatrix(part: number): void {
  const own = Object.entries(corpus)
    .flatMap(([group, fixed]) => fixed.map((_fixed, index) => ({ group, index, maxCallsForPairs: 0 })))
    .filter((_asked, index) => index % parts === part - 1);
  describe.runIf(isInShare(part))(
    `a crash before or after any port call loses nothing and leads to the same end: part ${part} of ${parts}`,
    () => {
      test('has its share of the workflows', () => expect(own.length).toBeGreaterThan(100));
      const firsts = own.flatMap((_asked, index) => (index % sliceSize === 0 ? [index] : []));
      test.each(firsts)('workflows from index %i', (first) => checkWorkflows(own.slice(first, first + sliceSize)));
    },
  );
}

async function checkWorkflows(asked: readonly object[]): Promise<void> {
  const all = emptyMatrixRow();
  await using thread = new RequestThread(new URL('./matrix-thread.ts', import.meta.url), matrixRowSchema);
  for (const each of asked) addMatrixRow(all, await thread.request(each));
  expect(all.violations).toEqual([]);
  expect(all.workflows).toBe(asked.length);
  // Every call of every workflow, once before and once after it.
  expect([all.struck, all.crashes]).toEqual([all.calls * 2, all.calls * 2]);
  expect(all.compared).toBeGreaterThan(all.crashes * 0.7);
}
