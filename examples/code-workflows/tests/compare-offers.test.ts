import { WorkflowTest } from 'stepwell/testing';
import { expect, test } from 'vitest';
import { compareOffers } from '../workflows/compare-offers.ts';

test('a shop that does not answer at once is asked again, and the others are not', async () => {
  const bench = new WorkflowTest({ workflows: [compareOffers] });
  bench.stub('ask southern', ({ attempt }: { readonly attempt: number }) => {
    if (attempt < 3) throw new Error('the line is busy');
    return { shop: 'southern', price: 80 };
  });
  const run = await bench.start(compareOffers, { shops: ['north', 'southern'] });
  expect(await run.result()).toEqual({ shop: 'southern', price: 80 });
  expect(await run.steps()).toMatchObject([
    { key: 'ask north', attempts: 1 },
    { key: 'ask southern', attempts: 3 },
  ]);
});
