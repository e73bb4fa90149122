/** The test kit: time, stubs, signals, cancellations, errors and types. */
import { expect, expectTypeOf, test } from 'vitest';
import { type WorkflowArguments, defineWorkflow, NonRetryableError } from '../../lib/sdk/index.ts';
import { RunError, TestError, WorkflowTest } from '../../lib/testing/index.ts';
import { child, shop, twenty, yearly } from './orders.ts';

const quiet = { print: () => {} };

test('a sleep of a year takes no real time, and code and test see the virtual time', async () => {
  const bench = new WorkflowTest({ workflows: [yearly], startAt: new Date('2027-03-01T00:00:00Z') });
  const run = await bench.start(yearly, null, { deadline: '2 years' });
  const begun = performance.now();
  expect(await run.result()).toBe(365);
  expect(performance.now() - begun).toBeLessThan(1_000);
  expect(bench.now().toISOString()).toBe('2028-02-29T06:00:00.000Z');
  expect(await run.steps()).toEqual([
    { key: 'a year', kind: 'sleep', status: 'completed', attempts: 1, output: null },
    { key: 'days', kind: 'function', status: 'completed', attempts: 1, output: 365 },
  ]);
});

test('a run waits longer than the default deadline of seven days, as it does on the platform', async () => {
  const bench = new WorkflowTest({ workflows: [decide] });
  const run = await bench.start(decide, { about: 'z', waits: true });
  await bench.advance('100 days');
  await expect(run.result()).rejects.toMatchObject({ code: 'run_blocked' });
});

test.each([
  ['a deadline of the start', {}, { deadline: '30 days' }],
  ['a deadline of its definition', { deadline: '30 days' }, {}],
  ['the 365 days that a run can last', {}, {}],
] as const)('a sleep beyond %s fails the run', async (_what, spec, options) => {
  const workflow = defineWorkflow({ ...spec, name: 'yearly' }, ({ step }: WorkflowArguments<null>) =>
    step.sleep('a year', '1 year'),
  );
  const bench = new WorkflowTest({ workflows: [workflow] });
  const run = await bench.start(workflow, null, options);
  await expect(run.result()).rejects.toMatchObject({ name: 'RunError', status: 'failed', code: 'deadline_exceeded' });
});

test('twenty steps of all kinds return their result', async () => {
  const bench = new WorkflowTest({ workflows: [twenty, child] });
  const run = await bench.start(twenty, null);
  expect(await run.result()).toMatchObject({ many: [10, 20, 30, 40, 50], sum: 41, raced: 'fast', beside: 'beside' });
  expect(bench.calls('chain').map(({ key }) => key)).toEqual(['chain', 'chain:1', 'chain:2', 'chain:3', 'chain:4']);
  expect(bench.calls('chain:2')).toEqual([{ runId: run.id, key: 'chain:2', name: 'chain', attempt: 1 }]);
});

test('a stub replaces a step function: by a value, a function, a retryable error, a non-retryable error', async () => {
  const bench = new WorkflowTest({ workflows: [shop], ...quiet });
  let tries = 0;
  bench.stub('ship', ({ attempt }: { attempt: number }) => {
    tries += 1;
    if (attempt < 3) throw new Error('the line is busy');
    return { parcel: 'p-1' };
  });
  const run = await bench.start(shop, { amount: 5 });
  expect(await run.result()).toEqual({ charge: { id: 'ch-charge', amount: 5 }, parcel: 'p-1' });
  expect([tries, bench.calls('ship').map(({ attempt }) => attempt)]).toEqual([3, [1, 2, 3]]);
  bench.stub('charge', { id: 'none', amount: 0 }).stub('ship', new NonRetryableError('closed', { code: 'closed' }));
  const other = await bench.start(shop, { amount: 5 });
  await expect(other.result()).rejects.toMatchObject({ code: 'closed', cause: 'invalid', message: 'closed', status: 'failed' });
  expect(bench.calls('rollback:charge')).toMatchObject([{ runId: other.id, key: 'rollback:charge' }]);
});

test('a key takes precedence over a name', async () => {
  const bench = new WorkflowTest({ workflows: [twenty, child] });
  bench
    .stub('chain', -1)
    .stub('chain:3', 'the fourth')
    .stub('side 2', () => 'second');
  const result = await (await bench.start(twenty, null)).result();
  expect([result.came.slice(0, 5), result.many]).toEqual([
    [-1, -1, -1, 'the fourth', -1],
    [10, 'second', 30, 40, 50],
  ]);
});

test('a failed run has its cause, and its rollbacks run', async () => {
  const bench = new WorkflowTest({ workflows: [shop], ...quiet });
  const run = await bench.start(shop, { amount: 5 });
  const failed: unknown = await run.result().catch((error: unknown) => error);
  expect(failed).toBeInstanceOf(RunError);
  expect(failed).toMatchObject({ runId: run.id, code: 'no_carrier', cause: 'invalid', message: 'there is no carrier' });
  expect(await run.steps()).toMatchObject([
    { key: 'charge', status: 'completed' },
    { key: 'ship', status: 'failed', error: { code: 'no_carrier', message: 'there is no carrier' } },
    { key: 'rollback:charge', kind: 'rollback', status: 'completed', output: null },
  ]);
});

const decide = defineWorkflow(
  { name: 'decide' },
  async ({ input, step }: WorkflowArguments<{ readonly about: string; readonly waits: boolean }>) => {
    const own = await step.waitForSignal<{ readonly by: string }>({ signal: 'vote', timeout: '2 days' });
    const other = input.waits ? await step.waitForSignal<string>({ signal: 'note', correlation: input.about }) : null;
    return { by: own?.data.by ?? null, note: other?.data ?? null };
  },
);

test('an early signal is stored for its wait, and a wait without a signal times out', async () => {
  const bench = new WorkflowTest({ workflows: [decide] });
  const voted = await bench.start(decide, { about: 'x', waits: true });
  await voted.sendSignal('vote', { by: 'Ada' });
  await bench.sendSignal({ signal: 'note', correlation: 'x', data: 'well' });
  expect(await voted.result()).toEqual({ by: 'Ada', note: 'well' });
  const alone = await bench.start(decide, { about: 'y', waits: false });
  expect(await alone.result()).toEqual({ by: null, note: null });
  expect(bench.now()).toEqual(new Date('2026-01-03T00:00:00Z'));
  await expect(alone.sendSignal('vote')).rejects.toMatchObject({ code: 'run_ended' });
});

test('a run that waits for an unsent signal is blocked, and does not advance to its deadline', async () => {
  const bench = new WorkflowTest({ workflows: [decide] });
  const run = await bench.start(decide, { about: 'z', waits: true }, { deadline: '7 days' });
  await bench.advance('2 days');
  await expect(run.result()).rejects.toMatchObject({ name: 'TestError', code: 'run_blocked' });
  await bench.advance('6 days');
  await expect(run.result()).rejects.toMatchObject({ code: 'deadline_exceeded' });
});

test('advance stops at its time', async () => {
  const bench = new WorkflowTest({ workflows: [child] });
  const run = await bench.start(child, { n: 1 });
  await bench.advance(0);
  expect((await run.steps()).map(({ key, status }) => `${key} ${status}`)).toEqual(['double completed', 'rest waiting']);
  await bench.advance('59 minutes');
  expect((await run.steps()).at(-1)).toMatchObject({ key: 'rest', status: 'waiting' });
  await bench.advance('1 minute');
  expect((await run.steps()).at(-1)).toMatchObject({ key: 'plus one', status: 'completed', output: 3 });
  expect(await run.result()).toBe(3);
  expect(bench.now()).toEqual(new Date('2026-01-01T01:00:00Z'));
});

const busy = defineWorkflow({ name: 'busy' }, ({ step }: WorkflowArguments<null>) =>
  step.run({ name: 'work', retryPolicy: { maximumAttempts: 1 } }, async ({ signal }) => {
    await new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(new Error('told to stop')));
    });
  }),
);

test('a cancellation aborts the running step function', async () => {
  const bench = new WorkflowTest({ workflows: [busy] });
  const run = await bench.start(busy, null);
  await bench.advance(0);
  await run.cancel('enough');
  await expect(run.result()).rejects.toMatchObject({ status: 'cancelled', code: 'run_cancelled', message: 'enough' });
  expect(bench.now().getTime() - Date.UTC(2026, 0, 1)).toBeLessThan(10_000);
});

test('a step function that never ends times out when the test advances time', async () => {
  const bench = new WorkflowTest({ workflows: [busy] });
  const run = await bench.start(busy, null);
  await bench.advance('20 minutes');
  await expect(run.result()).rejects.toMatchObject({ code: 'code_timed_out' });
});

test('a step function may take real time, and code may await other promises briefly', async () => {
  const slow = defineWorkflow({ name: 'slow' }, async ({ step }: WorkflowArguments<null>) => {
    await new Promise((resolve) => setTimeout(resolve, 20));
    return step.run({ name: 'work' }, () => new Promise<string>((resolve) => setTimeout(() => resolve('done'), 300)));
  });
  const bench = new WorkflowTest({ workflows: [slow] });
  expect(await (await bench.start(slow, null)).result()).toBe('done');
  expect(bench.now()).toEqual(new Date('2026-01-01T00:00:00Z'));
});

test('code that requests other steps in a replay fails with both names', async () => {
  let times = 0;
  const fickle = defineWorkflow({ name: 'fickle' }, async ({ step }: WorkflowArguments<null>) => {
    await step.run({ name: `go ${(times += 1)}` }, () => 1);
    await step.sleep('rest', '1 hour');
  });
  const run = await new WorkflowTest({ workflows: [fickle] }).start(fickle, null);
  await expect(run.result()).rejects.toMatchObject({
    name: 'NondeterminismError',
    details: { position: 1, recorded: { key: 'go 1' }, requested: { key: 'go 2' } },
  });
});

test('a workflow outside the test’s list is unknown, also as a child', async () => {
  const bench = new WorkflowTest({ workflows: [twenty] });
  await expect(bench.start(yearly, null)).rejects.toMatchObject({ code: 'workflow_unknown' });
  const run = await bench.start(twenty, null);
  await expect(run.result()).rejects.toMatchObject({ status: 'failed', details: { step: 'child' } });
  expect(TestError.name).toBe('TestError');
});

test('an equal seed gives an equal run', async () => {
  const played = async (seed: number) => {
    const run = await new WorkflowTest({ workflows: [twenty, child], seed }).start(twenty, null);
    return [run.id, await run.result()];
  };
  expect(await played(4)).toEqual(await played(4));
  expect(await played(4)).not.toEqual(await played(5));
});

test('types apply from the input to the result', async () => {
  const bench = new WorkflowTest({ workflows: [child, shop, yearly] });
  const run = await bench.start(child, { n: 2 });
  expectTypeOf(await run.result()).toEqualTypeOf<number>();
  // The input is an object with a number, and is required.
  const start = (...given: Parameters<typeof bench.start<{ n: number }, number, { n: number }>>) => bench.start(...given);
  expectTypeOf<Parameters<typeof start>[1]>().toEqualTypeOf<{ n: number }>();
  const dated = defineWorkflow({ name: 'dated' }, () => ({ at: new Date(0), none: undefined }));
  const other = new WorkflowTest({ workflows: [dated] });
  const ran = await other.start(dated);
  const came = await ran.result();
  expectTypeOf(came).toEqualTypeOf<{ at: string; none?: never }>();
  expect(came).toEqual({ at: '1970-01-01T00:00:00.000Z' });
});
