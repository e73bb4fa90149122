import { type WorkflowArguments, defineWorkflow } from 'stepwell/sdk';

interface Order {
  readonly items: readonly { readonly price: number; readonly quantity: number }[];
  readonly discount: number;
}

/** One step after another. Each completed step is stored, so a crash does not repeat it. */
export const fulfilOrder = defineWorkflow({ name: 'fulfil-order' }, async ({ input, step }: WorkflowArguments<Order>) => {
  const total = await step.run({ name: 'total' }, () =>
    input.items.reduce((sum, { price, quantity }) => sum + price * quantity, 0),
  );
  const due = await step.run({ name: 'discount' }, () => Math.round(total * (1 - input.discount)));
  return { total, due };
});
