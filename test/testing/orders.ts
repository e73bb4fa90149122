/** Workflows for the tests of the kit. */
import { NonRetryableError, type WorkflowArguments, defineWorkflow } from '../../lib/sdk/index.ts';

export const yearly = defineWorkflow({ name: 'yearly' }, async ({ step, now }: WorkflowArguments<null>) => {
  const from = now();
  await step.sleep('a year', '1 year');
  return step.run({ name: 'days' }, () => Math.round((now().getTime() - from.getTime()) / 86_400_000));
});

export const child = defineWorkflow({ name: 'child' }, async ({ input, step }: WorkflowArguments<{ readonly n: number }>) => {
  const doubled = await step.run({ name: 'double' }, () => input.n * 2);
  await step.sleep('rest', '1 hour');
  return step.run({ name: 'plus one' }, () => doubled + 1);
});

/** Twenty steps: sequential and parallel ones, a sleep, a signal to itself, a child workflow. */
export const twenty = defineWorkflow({ name: 'twenty' }, async ({ step, random, uuid }: WorkflowArguments<null>) => {
  const came: unknown[] = [];
  for (let n = 0; n < 5; n += 1) came.push(await step.run({ name: 'chain' }, () => n));
  const many = await Promise.all([1, 2, 3, 4, 5].map((n) => step.run({ name: `side ${n}` }, async () => n * 10)));
  await step.sleep('nap', '3 days');
  const [sum, beside] = await Promise.all([
    step.runWorkflow(child, { n: 20 }),
    step.run({ name: 'beside' }, () => Promise.resolve('beside')),
  ]);
  await step.sendSignal({ signal: 'self', data: { random: random() } });
  const heard = await step.waitForSignal({ signal: 'self' });
  const raced = await Promise.race([step.sleep('long', '1 hour').then(() => 'late'), step.run({ name: 'fast' }, () => 'fast')]);
  for (let n = 0; n < 3; n += 1) came.push(await step.run({ name: 'end' }, () => `${n}`));
  return { came, many, sum, beside, heard, raced, id: uuid() };
});

/** A charge with a rollback for a failed shipping. */
export const shop = defineWorkflow({ name: 'shop' }, async ({ input, step }: WorkflowArguments<{ readonly amount: number }>) => {
  const charge = await step.run({ name: 'charge', rollback: ({ key }) => key }, ({ key }) => ({
    id: `ch-${key}`,
    amount: input.amount,
  }));
  const shipped = await step.run({ name: 'ship', retryPolicy: { maximumAttempts: 3 } }, (): { readonly parcel: string } => {
    throw new NonRetryableError('there is no carrier', { code: 'no_carrier' });
  });
  return { charge, parcel: shipped.parcel };
});
