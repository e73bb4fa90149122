/**
 * Contract of the published client and worker of the package `openworkflow` over a backend, in real time. The package does
 * not include the library's own tests; these check the same behaviour.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { OpenWorkflow } from 'openworkflow';
import type { Backend } from 'openworkflow/internal';
import { describe, expect, test } from 'vitest';

type Body = Parameters<Parameters<OpenWorkflow['implementWorkflow']>[1]>[0];
type Worker = ReturnType<OpenWorkflow['newWorker']>;

const once = { initialInterval: '1ms', backoffCoefficient: 1, maximumInterval: '1ms', maximumAttempts: 1 } as const;

/** Waits until the condition holds. Meanwhile it ticks the given workers, which are not started. */
async function tickUntil(
  workers: readonly Worker[],
  condition: () => boolean | Promise<boolean>,
  timeoutMs = 20_000,
): Promise<void> {
  const end = Date.now() + timeoutMs;
  while (!(await condition())) {
    if (Date.now() > end) throw new Error(`the condition does not hold after ${timeoutMs} ms`);
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
    (await backend.getWorkflowRun({ workflowRunId }))?.status ?? 'missing';

  describe('concurrency', () => {
    test('a worker executes at most as many runs as it has slots, and a tick claims runs for free slots', async () => {
      const { ow } = await opened();
      const { promise, resolve } = Promise.withResolvers<void>();
      let [running, maxRunning, completed] = [0, 0, 0];
      const slow = ow.defineWorkflow({ name: 'slow' }, async () => {
        maxRunning = Math.max(maxRunning, (running += 1));
        await promise;
        running -= 1;
        completed += 1;
      });
      for (let run = 0; run < 5; run += 1) await slow.run();
      const worker = ow.newWorker({ concurrency: 2 });
      expect(await worker.tick()).toBe(2);
      expect(await worker.tick()).toBe(0);
      await tickUntil([], () => running === 2);
      resolve();
      await tickUntil([worker], () => completed === 5);
      expect(maxRunning).toBe(2);
      await worker.stop();
      expect(await worker.tick()).toBe(0);
    });

    test('two processes claim each run once, the longest waiting first', async () => {
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
      await tickUntil([], () => ran.length === 2);
      expect(new Set(ran)).toEqual(new Set([0, 1]));
      await tickUntil(workers, () => ran.length >= 12);
      expect(new Set(ran).size).toBe(12);
      expect(ran).toHaveLength(12);
      await Promise.all(workers.map((worker) => worker.stop()));
    });

    test('a stopping worker completes its runs and starts no others', async () => {
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

  test('a parent with fifty parallel children continues after all have ended, and each child runs once', async () => {
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
    await tickUntil([worker], async () => (await statusOf(backend, handle.workflowRun.id)) === 'completed');
    expect(await handle.result()).toEqual(Array.from({ length: 50 }, (_, n) => n * 2));
    expect(ran.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 50 }, (_, n) => n));
    await worker.stop();
  });

  test('a failed child fails its parent, and a cancelled parent does not cancel its child', async () => {
    const { backend, ow } = await opened();
    const child = ow.defineWorkflow({ name: 'child', retryPolicy: once }, ({ input }: { input: { bad: boolean } }) => {
      if (input.bad) throw new Error('it is bad');
    });
    const parent = ow.defineWorkflow({ name: 'parent' }, ({ input, step }: { input: { bad: boolean }; step: Body['step'] }) =>
      step.runWorkflow(child.workflow.spec, input),
    );
    const worker = ow.newWorker({ concurrency: 2 });
    const failing = await parent.run({ bad: true });
    await tickUntil([worker], async () => (await statusOf(backend, failing.workflowRun.id)) === 'failed');
    await expect(failing.result()).rejects.toThrow('it is bad');
    const left = await parent.run({ bad: false });
    const childOf = async (): Promise<string | null | undefined> =>
      (await backend.listStepAttempts({ workflowRunId: left.workflowRun.id })).data[0]?.childWorkflowRunId;
    await worker.tick();
    for (let id = await childOf(); typeof id !== 'string'; id = await childOf()) await delay(5);
    await left.cancel();
    const id = (await childOf()) ?? '';
    await tickUntil([worker], async () => (await statusOf(backend, id)) === 'completed');
    expect(await statusOf(backend, left.workflowRun.id)).toBe('canceled');
    await worker.stop();
  });

  describe('leases', () => {
    test('another worker continues the run of a crashed worker after its lease, and completed steps do not run again', async () => {
      const namespaceId = randomUUID();
      const [crashed, next] = [await opened(namespaceId), await opened(namespaceId)];
      const ran: string[] = [];
      const workflow = next.ow.defineWorkflow({ name: 'two-steps' }, async ({ step }) => {
        await step.run({ name: 'first' }, () => ran.push('first'));
        await step.run({ name: 'second' }, () => ran.push('second'));
      });
      const handle = await workflow.run();
      const workflowRunId = handle.workflowRun.id;
      const claimed = await crashed.backend.claimWorkflowRun({ workerId: 'crashed', leaseDurationMs: 60_000 });
      expect(claimed?.id).toBe(workflowRunId);
      const step = {
        workflowRunId,
        workerId: 'crashed',
        stepName: 'first',
        kind: 'function',
        config: {},
        context: null,
      } as const;
      const { id: stepAttemptId } = await crashed.backend.createStepAttempt(step);
      await crashed.backend.completeStepAttempt({ workflowRunId, workerId: 'crashed', stepAttemptId, output: 1 });
      const worker = next.ow.newWorker({ concurrency: 3 });
      expect(await worker.tick()).toBe(0);
      await crashed.backend.extendWorkflowRunLease({ workflowRunId, workerId: 'crashed', leaseDurationMs: 1 });
      await tickUntil([worker], async () => (await statusOf(next.backend, workflowRunId)) === 'completed');
      expect(ran).toEqual(['second']);
      await expect(crashed.backend.completeWorkflowRun({ workflowRunId, workerId: 'crashed', output: null })).rejects.toThrow(
        /^Failed to /,
      );
      await worker.stop();
    });

    test('no other worker claims a run with an extended lease', async () => {
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

  test('a sleep ends at its time and not before, also in another process', async () => {
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
    await tickUntil([second], async () => (await statusOf(two.backend, handle.workflowRun.id)) === 'completed');
    expect(wokenAt - startedAt).toBeGreaterThanOrEqual(119);
    await second.stop();
  });

  describe('cancellation and deadlines', () => {
    test('no worker executes a cancelled run, whether pending, suspended or running', async () => {
      const { backend, ow } = await opened();
      const gate = Promise.withResolvers<void>();
      const begun = Promise.withResolvers<void>();
      let steps = 0;
      const sleeper = ow.defineWorkflow({ name: 'sleeper' }, async ({ step }) => step.sleep('long', '1h'));
      const busy = ow.defineWorkflow({ name: 'busy' }, async ({ step }) => {
        await step.run({ name: 'a' }, async () => {
          begun.resolve();
          await gate.promise;
        });
        await step.run({ name: 'b' }, () => (steps += 1));
      });
      const worker = ow.newWorker({ concurrency: 2 });
      const [waiting, suspended, running] = [await busy.run(null, { availableAt: '1h' }), await sleeper.run(), await busy.run()];
      await worker.tick();
      await begun.promise;
      const isSuspended = async () =>
        (await backend.getWorkflowRun({ workflowRunId: suspended.workflowRun.id }))?.workerId === null;
      while (!(await isSuspended())) await delay(5);
      for (const handle of [waiting, suspended, running]) await handle.cancel();
      gate.resolve();
      await worker.stop();
      expect(await worker.tick()).toBe(0);
      for (const { workflowRun } of [waiting, suspended, running])
        expect(await statusOf(backend, workflowRun.id)).toBe('canceled');
      expect(steps).toBe(0);
      await expect(running.result()).rejects.toThrow('was canceled');
    });

    test('the next poll fails a run past its deadline, and the run never starts', async () => {
      const { backend, ow } = await opened();
      let begun = 0;
      const workflow = ow.defineWorkflow({ name: 'late' }, () => void (begun += 1));
      const [late, inTime] = [
        await workflow.run(null, { deadlineAt: new Date(Date.now() + 40), availableAt: '1h' }),
        await workflow.run(null, { deadlineAt: new Date(Date.now() + 60_000) }),
      ];
      const worker = ow.newWorker({ concurrency: 3 });
      await tickUntil([worker], async () => (await statusOf(backend, late.workflowRun.id)) === 'failed');
      await expect(late.result()).rejects.toThrow('Workflow run deadline exceeded');
      await inTime.result();
      expect(begun).toBe(1);
      await worker.stop();
    });
  });

  test('a run is invisible in other namespaces', async () => {
    const [mine, other] = [await opened(), await opened()];
    const workflow = mine.ow.defineWorkflow({ name: 'mine' }, () => 'done');
    other.ow.defineWorkflow({ name: 'mine' }, () => 'theirs');
    const handle = await workflow.run();
    expect(await other.ow.newWorker().tick()).toBe(0);
    expect(await other.backend.getWorkflowRun({ workflowRunId: handle.workflowRun.id })).toBeNull();
    expect(await mine.ow.newWorker().tick()).toBe(1);
    expect(await handle.result()).toBe('done');
  });

  test('a worker without the workflow version returns the run for other workers, with a delay', async () => {
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

  test('a workflow is retried by its policy, and completed steps do not run again', async () => {
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

  test('a signal from another process wakes the waiting run, and its idempotency key sends it once', async () => {
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
    await tickUntil([worker], async () => (await statusOf(one.backend, handle.workflowRun.id)) === 'completed');
    expect(await handle.result()).toBe(7);
    await worker.stop();
  });
};
