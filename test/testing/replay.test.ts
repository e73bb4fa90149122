/** Saved histories, replayed against changed code. */
import { expect, test } from 'vitest';
import { type WorkflowArguments, defineWorkflow } from '../../lib/sdk/index.ts';
import { NondeterminismError, WorkflowTest, replay } from '../../lib/testing/index.ts';
import { child, shop, twenty, yearly } from './orders.ts';

const saved = async (run: { history(): Promise<unknown> }): Promise<unknown> => JSON.parse(JSON.stringify(await run.history()));

test('the code that wrote a history has the same result in a replay, without running step functions', async () => {
  const bench = new WorkflowTest({ workflows: [twenty, child] });
  const run = await bench.start(twenty, null);
  const output = await run.result();
  const before = bench.calls('chain').length;
  expect(await replay(twenty, await saved(run))).toEqual({ status: 'completed', output });
  expect(bench.calls('chain').length).toBe(before);
});

test('a replay of an open run returns its next steps', async () => {
  const bench = new WorkflowTest({ workflows: [child] });
  const run = await bench.start(child, { n: 1 });
  await bench.advance(0);
  const history = await saved(run);
  expect(history).toMatchObject({ format: 'stepwell.history', version: 1, end: { status: 'open' }, input: { n: 1 } });
  expect(await replay(child, history)).toEqual({ status: 'waiting', nextSteps: [] });
  const longer = defineWorkflow({ name: 'child' }, async ({ step }: WorkflowArguments<unknown>) => {
    await Promise.all([step.run({ name: 'double' }, () => 0), step.sleep('rest', 1), step.run({ name: 'new' }, () => 0)]);
  });
  await expect(replay(longer, history)).resolves.toEqual({ status: 'waiting', nextSteps: ['new'] });
});

test('renamed, removed and added steps are nondeterminism errors that name the steps', async () => {
  const bench = new WorkflowTest({ workflows: [child] });
  const run = await bench.start(child, { n: 1 });
  await run.result();
  const history = await saved(run);
  const as = (body: (given: WorkflowArguments<unknown>) => Promise<unknown>) => defineWorkflow({ name: 'child' }, body);
  const renamed = as(({ step }) => step.run({ name: 'twice' }, () => 2));
  const of = await replay(renamed, history).catch((error: unknown) => error);
  expect(of).toBeInstanceOf(NondeterminismError);
  expect(of).toMatchObject({
    code: 'replay_diverged',
    details: { position: 1, recorded: { key: 'double', kind: 'function' }, requested: { key: 'twice', kind: 'function' } },
  });
  const removed = as(async ({ step }) => {
    await step.run({ name: 'double' }, () => 2);
    return step.run({ name: 'plus one' }, () => 3);
  });
  await expect(replay(removed, history)).rejects.toThrow(/step 2 of this run is sleep "rest", .* requests function "plus one"/);
  const added = as(async ({ step }) => {
    await step.run({ name: 'double' }, () => 2);
    await step.sleep('rest', '1 hour');
    await step.run({ name: 'plus one' }, () => 3);
    await step.run({ name: 'tell' }, () => 4);
  });
  await expect(replay(added, history)).rejects.toThrow('this run completed, and the code now requests "tell"');
  const ends = as(async () => 1);
  await expect(replay(ends, history)).rejects.toThrow('returns before it requests this step');
});

test('a failed run fails again, and its history contains no rollbacks', async () => {
  const bench = new WorkflowTest({ workflows: [shop] });
  const run = await bench.start(shop, { amount: 5 });
  await run.result().catch(() => {});
  const history = await saved(run);
  expect(JSON.stringify(history)).not.toContain('rollback');
  expect(await replay(shop, history)).toMatchObject({ status: 'failed', error: { code: 'no_carrier' } });
});

test('the history of a second attempt contains the results of the first', async () => {
  let tries = 0;
  const again = defineWorkflow(
    { name: 'again', retryPolicy: { maximumAttempts: 3 } },
    async ({ step, run }: WorkflowArguments<null>) => {
      await step.run({ name: 'first' }, () => 'done');
      if (run.attempt < 2) throw new Error('not yet');
      return step.run({ name: 'second' }, () => (tries += 1));
    },
  );
  const run = await new WorkflowTest({ workflows: [again] }).start(again, null);
  expect(await run.result()).toBe(1);
  const history = await saved(run);
  expect(history).toMatchObject({ attempt: 2, priorResults: [{ key: 'first', output: 'done' }] });
  expect(await replay(again, history)).toEqual({ status: 'completed', output: 1 });
});

test('an offloaded value is in the document', async () => {
  const large = defineWorkflow({ name: 'large' }, ({ input, step }: WorkflowArguments<{ readonly n: number }>) =>
    step.run({ name: 'fill' }, () => Array.from({ length: input.n }, (_, index) => index * 7_919)),
  );
  const run = await new WorkflowTest({ workflows: [large] }).start(large, { n: 30_000 });
  expect((await run.result()).length).toBe(30_000);
  expect(await replay(large, await saved(run))).toMatchObject({ status: 'completed' });
});

test.each([
  ['nothing', null],
  ['a later format', { format: 'stepwell.history', version: 2 }],
])('%s is not a history', async (_what, given) => {
  await expect(replay(yearly, given)).rejects.toMatchObject({ code: 'history_invalid' });
});
