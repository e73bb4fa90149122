import { type WorkflowArguments, defineWorkflow } from 'stepwell/sdk';

/** Parallel steps: a retry of one step does not repeat the completed ones. */
export const compareOffers = defineWorkflow(
  { name: 'compare-offers' },
  async ({ input, step }: WorkflowArguments<{ readonly shops: readonly string[] }>) => {
    const offers = await Promise.all(
      input.shops.map((shop) => step.run({ name: `ask ${shop}` }, () => ({ shop, price: priceAt(shop) }))),
    );
    return offers.toSorted((one, other) => one.price - other.price)[0] ?? null;
  },
);

/** Placeholder for a request to the shop. */
const priceAt = (shop: string): number => 100 + shop.length;
