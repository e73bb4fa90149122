/** An order: two steps with a sleep between them, and a hook for the approval. */
import { createHook, sleep } from 'workflow';

export async function order(item: string) {
  'use workflow';
  const price = await quote(item);
  await sleep('3s');
  const receipt = await charge(price);
  const approval = createHook<{ by: string }>({ token: `approve:${item}` });
  const { by } = await approval;
  return { item, price, receipt, by };
}

async function quote(item: string) {
  'use step';
  return item.length * 10;
}

/** The variable is one of the server, so the receipt shows where the step was executed. */
async function charge(price: number) {
  'use step';
  return `receipt-${price}-of-${process.env.SHOP_NAME ?? 'a shop without a name'}`;
}
