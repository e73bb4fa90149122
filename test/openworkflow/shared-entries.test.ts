/** Queued changes of one run in a process share a log entry, and each has the same outcome as alone. */
import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { minutes } from '../../lib/engine/time.ts';
import { MemoryClock } from '../../lib/memory/clock.ts';
import { MemoryExternalRuns } from '../../lib/memory/external-runs.ts';
import type { ExternalRuns } from '../../lib/ports/external-runs.ts';
import { Unavailable } from '../../lib/ports/unavailable.ts';
import { parseExternalRunId } from '../../lib/engine/external/run.ts';
import { noon } from '../contract/samples.ts';
import { TestBackend } from './test-backend.ts';
import { type CrashPoint, StoreCrashed, crashingStore } from './crashing-store.ts';

const count = 300;
const each = <Result>(make: (index: number) => Promise<Result>, of = count): Promise<Result[]> =>
  Promise.all(Array.from({ length: of }, (_, index) => make(index)));

async function entriesOf(store: ExternalRuns, testBackend: TestBackend, workflowRunId: string) {
  const runId = parseExternalRunId(workflowRunId);
  if (runId === undefined) throw new Error('no id of a run');
  return store.entries({ namespaceId: testBackend.namespaceId, runId }, 0);
}

test('300 parallel steps start and end in a few entries, each with its own id', async () => {
  const store = new MemoryExternalRuns();
  const testBackend = new TestBackend(store);
  const run = await testBackend.claimed();
  const steps = await each((index) => testBackend.step(run.id, { stepName: `step ${index}` }));
  expect(new Set(steps.map(({ id }) => id)).size).toBe(count);
  expect(steps.map(({ stepName }) => stepName)).toEqual(Array.from({ length: count }, (_, index) => `step ${index}`));
  const ended = await each((index) => {
    const step = { workflowRunId: run.id, workerId: 'w', stepAttemptId: steps[index]?.id ?? '' };
    return index % 3 === 0
      ? testBackend.backend.failStepAttempt({ ...step, error: { message: `no ${index}` } })
      : testBackend.backend.completeStepAttempt({ ...step, output: index });
  });
  expect(ended.map(({ id }) => id)).toEqual(steps.map(({ id }) => id));
  expect(ended.map(({ output, error }) => error ?? output)).toEqual(
    Array.from({ length: count }, (_, index) => (index % 3 === 0 ? { message: `no ${index}` } : index)),
  );
  const entries = await entriesOf(store, testBackend, run.id);
  expect(entries.flatMap(({ facts }) => facts)).toHaveLength(2 + 2 * count);
  // Created, claimed, and at most two entries each for all starts and for all ends.
  expect(entries.length).toBeLessThanOrEqual(6);
});

test('a change of the run itself has its own entry, and the changes before and after it keep their order', async () => {
  const store = new MemoryExternalRuns();
  const testBackend = new TestBackend(store);
  const run = await testBackend.claimed();
  const [one, two, done, late] = await Promise.allSettled([
    testBackend.step(run.id),
    testBackend.step(run.id),
    testBackend.complete(run.id),
    testBackend.step(run.id),
  ]);
  expect([one, two, done, late].map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'fulfilled', 'rejected']);
  const entries = await entriesOf(store, testBackend, run.id);
  expect(entries.map(({ facts }) => facts.map(({ type }) => type))).toEqual([
    ['created'],
    ['claimed'],
    ['step-begun', 'step-begun'],
    ['completed'],
  ]);
});

test('a refused change does not affect the others of its entry', async () => {
  const testBackend = new TestBackend(new MemoryExternalRuns());
  const run = await testBackend.claimed();
  const done = await Promise.allSettled(
    Array.from({ length: 20 }, (_, index) => testBackend.step(run.id, { workerId: index % 5 === 4 ? 'thief' : 'w' })),
  );
  expect(done.map(({ status }) => status)).toEqual(
    Array.from({ length: 20 }, (_, index) => (index % 5 === 4 ? 'rejected' : 'fulfilled')),
  );
});

test('many large outputs are split over several entries', async () => {
  const store = new MemoryExternalRuns();
  const testBackend = new TestBackend(store);
  const run = await testBackend.claimed();
  const steps = await each(() => testBackend.step(run.id), 12);
  const output = 'x'.repeat(40_000);
  await Promise.all(
    steps.map(({ id }) =>
      testBackend.backend.completeStepAttempt({ workflowRunId: run.id, workerId: 'w', stepAttemptId: id, output }),
    ),
  );
  const entries = await entriesOf(store, testBackend, run.id);
  const largest = Math.max(...entries.map(({ facts }) => JSON.stringify(facts).length));
  expect(largest).toBeLessThan(101_000);
  expect(largest).toBeGreaterThan(40_000);
  await expect(testBackend.backend.listStepAttempts({ workflowRunId: run.id })).resolves.toMatchObject({
    data: steps.map(({ id }) => ({ id, status: 'completed' })),
  });
});

test('two processes that report the same ended children record each once', async () => {
  const [store, clock] = [new MemoryExternalRuns(), new MemoryClock(noon)];
  const [one, two] = [0, 1].map(() => new TestBackend(store, { clock, namespaceId: 'team' }));
  if (one === undefined || two === undefined) throw new Error('two processes');
  const parent = await one.claimed();
  const calls = await each(() => one.step(parent.id, { kind: 'workflow', context: { kind: 'workflow', timeoutAt: null } }), 40);
  const children = await Promise.all(
    calls.map(({ id, namespaceId }) =>
      one.create({ parentStepAttemptNamespaceId: namespaceId, parentStepAttemptId: id, workflowName: 'child' }),
    ),
  );
  await Promise.all(calls.map((call, index) => one.link(parent, call, children[index] ?? parent)));
  await one.park(parent.id, 3_600_000);
  expect(await one.claim('early')).toMatchObject({ workflowName: 'child' });
  await Promise.all(
    children.flatMap(({ id }) => [one, two].map((testBackend) => testBackend.backend.cancelWorkflowRun({ workflowRunId: id }))),
  );
  const facts = (await entriesOf(store, one, parent.id)).flatMap(({ facts: all }) => all);
  expect(facts.filter(({ type }) => type === 'child-ended')).toHaveLength(40);
  expect((await two.run(parent.id)).availableAt).toEqual(new Date(clock.now()));
});

test('a failed put fails all changes of its entry, and later changes are decided on the stored log', async () => {
  const store = new MemoryExternalRuns();
  let outages = 0;
  const weak: ExternalRuns = new Proxy(store, {
    get(target, name) {
      const method: unknown = Reflect.get(target, name);
      if (typeof method !== 'function') return method;
      return async (...given: readonly unknown[]): Promise<unknown> => {
        const answer: unknown = await Reflect.apply(method, target, given);
        // The entry is written, and the response is lost.
        if (name === 'append' && outages > 0 && (outages -= 1) >= 0) throw new Unavailable('the table');
        return answer;
      };
    },
  });
  const testBackend = new TestBackend(weak);
  const run = await testBackend.claimed();
  outages = 3;
  const done = await Promise.allSettled(Array.from({ length: 10 }, () => testBackend.step(run.id)));
  // The puts of one entry: with the first change, or with all ten.
  expect(outages).toBe(0);
  const failed = done.filter(({ status }) => status === 'rejected').length;
  const facts = (await entriesOf(store, testBackend, run.id)).flatMap(({ facts: all }) => all);
  // They are written, as with any put whose response is lost, and no other change took their numbers.
  expect(facts).toHaveLength(12);
  expect(failed).toBeGreaterThan(0);
  const step = await testBackend.step(run.id);
  expect(step.id.endsWith('00000d')).toBe(true);
});

const width = 8;
/** Parallel steps, children and their ends, each started only where the log does not contain it. */
async function play(testBackend: TestBackend, worker: string): Promise<void> {
  for (let run = await testBackend.claim(worker); run !== null; run = await testBackend.claim(worker)) {
    const { id: workflowRunId, workflowName } = run;
    if (workflowName === 'child') {
      await testBackend.complete(workflowRunId, worker);
      continue;
    }
    const { data } = await testBackend.backend.listStepAttempts({ workflowRunId });
    const done = await Promise.all(
      Array.from({ length: width }, async (_, index) => {
        const stepName = `call ${index}`;
        const context = { kind: 'workflow', timeoutAt: null } as const;
        const known = data.find((step) => step.stepName === stepName);
        const call = known ?? (await testBackend.step(workflowRunId, { stepName, kind: 'workflow', context, workerId: worker }));
        if (call.status === 'completed') return true;
        const link = { parentStepAttemptNamespaceId: call.namespaceId, parentStepAttemptId: call.id };
        const child = await testBackend.create({ workflowName: 'child', idempotencyKey: `child:${call.id}`, ...link });
        const stepRef = { workflowRunId, workerId: worker, stepAttemptId: call.id };
        if (call.childWorkflowRunId === null)
          await testBackend.backend.setStepAttemptChildWorkflowRun({
            ...stepRef,
            childWorkflowRunNamespaceId: testBackend.namespaceId,
            childWorkflowRunId: child.id,
          });
        const { status, output } = await testBackend.run(child.id);
        if (status !== 'completed') return false;
        await testBackend.backend.completeStepAttempt({ ...stepRef, output });
        return true;
      }),
    );
    await (done.every(Boolean)
      ? testBackend.complete(workflowRunId, worker)
      : testBackend.park(workflowRunId, 3_600_000, worker));
  }
}

async function scenario(crashPoint?: CrashPoint) {
  const [store, clock] = [new MemoryExternalRuns(), new MemoryClock(noon)];
  const crashing = crashingStore(store, crashPoint);
  const at = (of: ExternalRuns) => new TestBackend(of, { clock, namespaceId: 'team' });
  const [client, first, survivor] = [at(store), at(crashing.store), at(store)];
  const parent = await client.create({ workflowName: 'parent' });
  let hasCrashed = false;
  try {
    await play(first, 'first');
  } catch (error) {
    if (!(error instanceof StoreCrashed)) throw error;
    hasCrashed = true;
  }
  for (let round = 0; round < 20; round += 1) {
    await play(survivor, 'second');
    clock.advance(minutes(1));
  }
  return { store, clock, client, parent, hasCrashed, writes: crashing.writes() };
}

const { writes } = await scenario();

test('without a crash a parent and its parallel children complete', async () => {
  const { hasCrashed, client, parent } = await scenario();
  expect(hasCrashed).toBe(false);
  expect(await client.run(parent.id)).toMatchObject({ status: 'completed' });
  expect(writes).toBeGreaterThan(width * 8);
});

const crashPoints = Array.from({ length: writes }, (_, index) =>
  [false, true].map((isWritten): CrashPoint => ({ atWrite: index + 1, isWritten })),
).flat();

test.each(crashPoints)(
  'a crash at write $atWrite, written: $isWritten, neither loses nor duplicates a child',
  async (crashPoint) => {
    const { store, clock, client, parent, hasCrashed } = await scenario(crashPoint);
    expect(hasCrashed).toBe(true);
    expect(await client.backend.countWorkflowRuns()).toMatchObject({ completed: width + 1, pending: 0, running: 0 });
    const { data } = await client.backend.listStepAttempts({ workflowRunId: parent.id });
    expect(data.map(({ status }) => status)).toEqual(Array.from({ length: width }, () => 'completed'));
    expect(new Set(data.map(({ childWorkflowRunId }) => childWorkflowRunId)).size).toBe(width);
    clock.advance(minutes(60 * 24 * 500));
    expect(await client.claim()).toBeNull();
    expect(await store.reminders('team', clock.now(), 100)).toEqual([]);
  },
);

test('a signal with a key that is too large together with its target waits is refused, and reaches no run', async () => {
  const testBackend = new TestBackend(new MemoryExternalRuns());
  const runs = await each(async () => {
    const run = await testBackend.create();
    return run.id;
  }, 2_000);
  for (let run = await testBackend.claim(); run !== null; run = await testBackend.claim()) await testBackend.wait(run.id, 'go');
  const data = randomBytes(350_000).toString('base64');
  const sent = testBackend.backend.sendSignal({ signal: 'go', data, idempotencyKey: 'k' });
  await expect(sent).rejects.toThrow(
    /^a signal with an idempotency key: \d+ bytes compressed are more than the maximum of 380000$/,
  );
  const steps = await testBackend.backend.listStepAttempts({ workflowRunId: runs[0] ?? '' });
  expect(await testBackend.backend.getSignalDelivery({ stepAttemptId: steps.data[0]?.id ?? '' })).toBeUndefined();
});
