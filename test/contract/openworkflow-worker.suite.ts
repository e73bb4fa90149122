/**
 * What programs of the package `openworkflow` rely on: its published client and worker over a backend, in real time. The library's
 * own tests of its worker and client are in its public repository, and its package does not have them; these hold the same behaviours.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { OpenWorkflow } from 'openworkflow';
import type { Backend } from 'openworkflow/internal';
import { describe, expect, test } from 'vitest';

type Body = Parameters<Parameters<OpenWorkflow['implementWorkflow']>[1]>[0];
type Worker = ReturnType<OpenWorkflow['newWorker']>;

const once = { initialInterval: '1ms', backoffCoefficient: 1, maximumInterval: '1ms', maximumAttempts: 1 } as const;

/** Waits until it is so. Workers that were not started tick meanwhile. */
async function ticked(workers: readonly Worker[], isSo: () => boolean | Promise<boolean>, forMs = 20_000): Promise<void> {
  const end = Date.now() + forMs;
  while (!(await isSo())) {
    if (Date.now() > end) throw new Error('it has not come to that');
    for (const worker of workers) await worker.tick();
    await delay(5);
  }
}

export const openworkflowWorkerSuite = (connect: (namespaceId: string) => Promise<Backend>) => {
  const opened = async (namespaceId: string = randomUUID()) => {
    const backend = await connect(namespaceId);
    return { backend, ow: new OpenWorkflow({ backend }) };
  };
  const statusOf = async (backend: Backend, workflowRunId: string) =>
    (await backend.getWorkflowRun({ workflowRunId }))?.status ?? 'gone';

  describe('concurrency', () => {
    test('a worker has as many runs as it has slots, and a tick claims for the free ones', async () => {
      const { ow } = await opened();
      const { promise, resolve } = Promise.withResolvers<void>();
      let [atWork, most, done] = [0, 0, 0];
      const slow = ow.defineWorkflow({ name: 'slow' }, async () => {
        most = Math.max(most, (atWork += 1));
        await promise;
        atWork -= 1;
        done += 1;
      });
      for (let run = 0; run < 5; run += 1) await slow.run();
      const worker = ow.newWorker({ concurrency: 2 });
      expect(await worker.tick()).toBe(2);
      expect(await worker.tick()).toBe(0);
      await ticked([], () => atWork === 2);
      resolve();
      await ticked([worker], () => done === 5);
      expect(most).toBe(2);
      await worker.stop();
      expect(await worker.tick()).toBe(0);
    });

    test('two processes claim each run once, and those that wait longest first', async () => {
      const namespaceId = randomUUID();
      const [one, two] = [await opened(namespaceId), await opened(namespaceId)];
      const ran: unknown[] = [];
      const body = ({ input }: Body): void => void ran.push(input);
      const workflow = one.ow.defineWorkflow({ name: 'count' }, body);
      two.ow.implementWorkflow(workflow.workflow.spec, body);
      for (let n = 0; n < 12; n += 1) {
        const availableAt = new Date(Date.now() - 100_000 + n * 1_000);
        await workflow.run(n, { availableAt });
      }
      const workers = [one, two].map(({ ow }) => ow.newWorker({ concurrency: 2 }));
      const [first] = workers;
      await first?.tick();
      await ticked([], () => ran.length === 2);
      expect(new Set(ran)).toEqual(new Set([0, 1]));
      await ticked(workers, () => ran.length >= 12);
      expect(new Set(ran).size).toBe(12);
      expect(ran).toHaveLength(12);
      await Promise.all(workers.map((worker) => worker.stop()));
    });

    test('a worker that stops ends what it has begun, and begins nothing more', async () => {
      const { backend, ow } = await opened();
      const begun = Promise.withResolvers<void>();
      const slow = ow.defineWorkflow({ name: 'slow' }, async () => {
        begun.resolve();
        await delay(150);
        return 'done';
      });
      const handle = await slow.run();
      const worker = ow.newWorker({ concurrency: 4 });
      await worker.start();
      await begun.promise;
      await Promise.all([worker.stop(), worker.stop()]);
      expect(await statusOf(backend, handle.workflowRun.id)).toBe('completed');
      const left = await slow.run();
      await delay(100);
      expect(await statusOf(backend, left.workflowRun.id)).toBe('pending');
    });
  });

  test('a parent with fifty children side by side goes on once all have ended, and each ran once', async () => {
    const { backend, ow } = await opened();
    const ran: number[] = [];
    const child = ow.defineWorkflow({ name: 'child' }, async ({ input, step }: { input: { n: number }; step: Body['step'] }) =>
      step.run({ name: 'work' }, () => ran.push(input.n) && input.n * 2),
    );
    const parent = ow.defineWorkflow({ name: 'parent' }, async ({ step }) =>
      Promise.all(Array.from({ length: 50 }, (_, n) => step.runWorkflow(child.workflow.spec, { n }))),
    );
    const worker = ow.newWorker({ concurrency: 60 });
    const handle = await parent.run();
    await ticked([worker], async () => (await statusOf(backend, handle.workflowRun.id)) === 'completed');
    expect(await handle.result()).toEqual(Array.from({ length: 50 }, (_, n) => n * 2));
    expect(ran.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 50 }, (_, n) => n));
    await worker.stop();
  });

  test('a failed child fails its parent, and a cancelled parent leaves its child', async () => {
    const { backend, ow } = await opened();
    const child = ow.defineWorkflow({ name: 'child', retryPolicy: once }, ({ input }: { input: { bad: boolean } }) => {
      if (input.bad) throw new Error('it is bad');
    });
    const parent = ow.defineWorkflow({ name: 'parent' }, ({ input, step }: { input: { bad: boolean }; step: Body['step'] }) =>
      step.runWorkflow(child.workflow.spec, input),
    );
    const worker = ow.newWorker({ concurrency: 2 });
    const failing = await parent.run({ bad: true });
    await ticked([worker], async () => (await statusOf(backend, failing.workflowRun.id)) === 'failed');
    await expect(failing.result()).rejects.toThrow('it is bad');
    const left = await parent.run({ bad: false });
    const childOf = async (): Promise<string | null | undefined> =>
      (await backend.listStepAttempts({ workflowRunId: left.workflowRun.id })).data[0]?.childWorkflowRunId;
    await worker.tick();
    for (let id = await childOf(); typeof id !== 'string'; id = await childOf()) await delay(5);
    await left.cancel();
    const id = (await childOf()) ?? '';
    await ticked([worker], async () => (await statusOf(backend, id)) === 'completed');
    expect(await statusOf(backend, left.workflowRun.id)).toBe('canceled');
    await worker.stop();
  });

  describe('leases', () => {
    test('a run whose worker died is run by another when the lease is over, and what is done stays done', async () => {
      const namespaceId = randomUUID();
      const [dead, heir] = [await opened(namespaceId), await opened(namespaceId)];
      const ran: string[] = [];
      const workflow = heir.ow.defineWorkflow({ name: 'two-steps' }, async ({ step }) => {
        await step.run({ name: 'first' }, () => ran.push('first'));
        await step.run({ name: 'second' }, () => ran.push('second'));
      });
      const handle = await workflow.run();
      const workflowRunId = handle.workflowRun.id;
      const claimed = await dead.backend.claimWorkflowRun({ workerId: 'dead', leaseDurationMs: 60_000 });
      expect(claimed?.id).toBe(workflowRunId);
      const step = { workflowRunId, workerId: 'dead', stepName: 'first', kind: 'function', config: {}, context: null } as const;
      const { id: stepAttemptId } = await dead.backend.createStepAttempt(step);
      await dead.backend.completeStepAttempt({ workflowRunId, workerId: 'dead', stepAttemptId, output: 1 });
      const worker = heir.ow.newWorker({ concurrency: 3 });
      expect(await worker.tick()).toBe(0);
      await dead.backend.extendWorkflowRunLease({ workflowRunId, workerId: 'dead', leaseDurationMs: 1 });
      await ticked([worker], async () => (await statusOf(heir.backend, workflowRunId)) === 'completed');
      expect(ran).toEqual(['second']);
      await expect(dead.backend.completeWorkflowRun({ workflowRunId, workerId: 'dead', output: null })).rejects.toThrow(
        /^Failed to /,
      );
      await worker.stop();
    });

    test('a lease that is extended keeps others away', async () => {
      const namespaceId = randomUUID();
      const [one, two] = [await opened(namespaceId), await opened(namespaceId)];
      const workflow = one.ow.defineWorkflow({ name: 'slow' }, () => {});
      const { workflowRun } = await workflow.run();
      const lease = { workerId: 'one', leaseDurationMs: 150 };
      await one.backend.claimWorkflowRun(lease);
      for (let round = 0; round < 4; round += 1) {
        await one.backend.extendWorkflowRunLease({ ...lease, workflowRunId: workflowRun.id, leaseDurationMs: 60_000 });
        await delay(60);
        expect(await two.backend.claimWorkflowRun({ workerId: 'two', leaseDurationMs: 150 })).toBeNull();
      }
    });
  });

  test('a sleep ends at its time and not before, over another process too', async () => {
    const namespaceId = randomUUID();
    const [one, two] = [await opened(namespaceId), await opened(namespaceId)];
    let wokenAt = 0;
    const body = async ({ step }: Body): Promise<void> => {
      await step.sleep('nap', '120ms');
      wokenAt = Date.now();
    };
    const workflow = one.ow.defineWorkflow({ name: 'sleeper' }, body);
    two.ow.implementWorkflow(workflow.workflow.spec, body);
    const handle = await workflow.run();
    const [first, second] = [one.ow.newWorker(), two.ow.newWorker()];
    const startedAt = Date.now();
    expect(await first.tick()).toBe(1);
    await first.stop();
    await ticked([second], async () => (await statusOf(two.backend, handle.workflowRun.id)) === 'completed');
    expect(wokenAt - startedAt).toBeGreaterThanOrEqual(119);
    await second.stop();
  });

  describe('cancelled and late', () => {
    test('no worker runs a cancelled run: pending, parked, and at work', async () => {
      const { backend, ow } = await opened();
      const gate = Promise.withResolvers<void>();
      const begun = Promise.withResolvers<void>();
      let steps = 0;
      const parked = ow.defineWorkflow({ name: 'parked' }, async ({ step }) => step.sleep('long', '1h'));
      const busy = ow.defineWorkflow({ name: 'busy' }, async ({ step }) => {
        await step.run({ name: 'a' }, async () => {
          begun.resolve();
          await gate.promise;
        });
        await step.run({ name: 'b' }, () => (steps += 1));
      });
      const worker = ow.newWorker({ concurrency: 2 });
      const [waiting, asleep, working] = [await busy.run(null, { availableAt: '1h' }), await parked.run(), await busy.run()];
      await worker.tick();
      await begun.promise;
      const isParked = async () => (await backend.getWorkflowRun({ workflowRunId: asleep.workflowRun.id }))?.workerId === null;
      while (!(await isParked())) await delay(5);
      for (const handle of [waiting, asleep, working]) await handle.cancel();
      gate.resolve();
      await worker.stop();
      expect(await worker.tick()).toBe(0);
      for (const { workflowRun } of [waiting, asleep, working]) expect(await statusOf(backend, workflowRun.id)).toBe('canceled');
      expect(steps).toBe(0);
      await expect(working.result()).rejects.toThrow('was canceled');
    });

    test('a run past its deadline is failed by the next poll, and never begun', async () => {
      const { backend, ow } = await opened();
      let begun = 0;
      const workflow = ow.defineWorkflow({ name: 'late' }, () => void (begun += 1));
      const [late, inTime] = [
        await workflow.run(null, { deadlineAt: new Date(Date.now() + 40), availableAt: '1h' }),
        await workflow.run(null, { deadlineAt: new Date(Date.now() + 60_000) }),
      ];
      const worker = ow.newWorker({ concurrency: 3 });
      await ticked([worker], async () => (await statusOf(backend, late.workflowRun.id)) === 'failed');
      await expect(late.result()).rejects.toThrow('Workflow run deadline exceeded');
      await inTime.result();
      expect(begun).toBe(1);
      await worker.stop();
    });
  });

  test('programs in other namespaces see nothing of a run', async () => {
    const [mine, other] = [await opened(), await opened()];
    const workflow = mine.ow.defineWorkflow({ name: 'mine' }, () => 'done');
    other.ow.defineWorkflow({ name: 'mine' }, () => 'theirs');
    const handle = await workflow.run();
    expect(await other.ow.newWorker().tick()).toBe(0);
    expect(await other.backend.getWorkflowRun({ workflowRunId: handle.workflowRun.id })).toBeNull();
    expect(await mine.ow.newWorker().tick()).toBe(1);
    expect(await handle.result()).toBe('done');
  });

  test('a run whose workflow or version a worker does not have is left to others, with a wait', async () => {
    const { backend, ow } = await opened();
    const elsewhere = new OpenWorkflow({ backend }).defineWorkflow({ name: 'elsewhere', version: 'v2' }, () => {});
    ow.defineWorkflow({ name: 'elsewhere', version: 'v1' }, () => {});
    const { workflowRun } = await elsewhere.run();
    const worker = ow.newWorker();
    expect(await worker.tick()).toBe(0);
    const left = await backend.getWorkflowRun({ workflowRunId: workflowRun.id });
    expect(left).toMatchObject({ status: 'pending', workerId: null });
    expect(left?.error).toMatchObject({ message: 'Workflow "elsewhere" (version: v2) is not registered' });
    expect((left?.availableAt?.getTime() ?? 0) - Date.now()).toBeGreaterThan(3_000);
  });

  test('a workflow is tried again by its policy, and only what failed runs again', async () => {
    const { ow } = await opened();
    const ran: string[] = [];
    const workflow = ow.defineWorkflow({ name: 'retried', retryPolicy: { ...once, maximumAttempts: 3 } }, async ({ step }) => {
      await step.run({ name: 'good' }, () => ran.push('good'));
      ran.push('body');
      if (ran.length < 4) throw new Error('again');
    });
    const handle = await workflow.run();
    const worker = ow.newWorker();
    await worker.start();
    await handle.result();
    await worker.stop();
    expect(ran).toEqual(['good', 'body', 'body', 'body']);
  });

  test('a signal wakes the run that waits, sent from another process, and its key is one signal', async () => {
    const namespaceId = randomUUID();
    const [one, two] = [await opened(namespaceId), await opened(namespaceId)];
    const workflow = one.ow.defineWorkflow(
      { name: 'waiter' },
      async ({ step }) => (await step.waitForSignal({ signal: 'go' }))?.data,
    );
    const handle = await workflow.run();
    const worker = one.ow.newWorker();
    await worker.tick();
    const send = () => two.ow.sendSignal({ signal: 'go', data: 7, idempotencyKey: 'k' });
    let sent = await send();
    for (; sent.workflowRunIds.length === 0; sent = await send()) await delay(5);
    expect(await send()).toEqual(sent);
    await ticked([worker], async () => (await statusOf(one.backend, handle.workflowRun.id)) === 'completed');
    expect(await handle.result()).toBe(7);
    await worker.stop();
  });
};
