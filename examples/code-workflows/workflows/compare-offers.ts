import { type WorkflowArguments, defineWorkflow } from 'stepwell/sdk';

/** Steps side by side: all of them are at work at once, and those that are done stay done if one of them has to be tried again. */
export const compareOffers = defineWorkflow(
  { name: 'compare-offers' },
  async ({ input, step }: WorkflowArguments<{ readonly shops: readonly string[] }>) => {
    const offers = await Promise.all(
      input.shops.map((shop) => step.run({ name: `ask ${shop}` }, () => ({ shop, price: priceAt(shop) }))),
    );
    return offers.toSorted((one, other) => one.price - other.price)[0] ?? null;
  },
);

/** Stands for a request to the shop. */
const priceAt = (shop: string): number => 100 + shop.length;
