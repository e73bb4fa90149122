import { WorkflowTest } from 'stepwell/testing';
import { expect, test } from 'vitest';
import { fulfilOrder } from '../workflows/fulfil-order.ts';

const order = { items: [{ price: 50, quantity: 3 }], discount: 0.1 };

test('an order comes to what is due', async () => {
  const bench = new WorkflowTest({ workflows: [fulfilOrder] });
  const run = await bench.start(fulfilOrder, order);
  expect(await run.result()).toEqual({ total: 150, due: 135 });
});

test('whenever a machine dies, it comes to the same, and no step is done more than twice', async () => {
  const whole = new WorkflowTest({ workflows: [fulfilOrder] });
  await (await whole.start(fulfilOrder, order)).result();
  for (let write = 1; write <= whole.writes; write += 1) {
    const bench = new WorkflowTest({ workflows: [fulfilOrder] }).crashAtWrite(write, 'before');
    expect(await (await bench.start(fulfilOrder, order)).result()).toEqual({ total: 150, due: 135 });
    expect(bench.crashes).toBe(1);
    expect(bench.calls('total').length + bench.calls('discount').length).toBeLessThanOrEqual(3);
  }
});
