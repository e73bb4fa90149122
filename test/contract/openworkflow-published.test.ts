/** The published client and worker of the package `openworkflow` over the backend, in real time. */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { OpenWorkflow } from 'openworkflow';
import type { Backend } from 'openworkflow/internal';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { SystemClock } from '../../lib/aws/system.ts';
import { MemoryExternalRuns } from '../../lib/memory/external-runs.ts';
import { ExternalRunsBackend } from '../../lib/openworkflow/backend/backend.ts';
import { BackendStepwell } from '../../lib/openworkflow/backend/index.ts';
import type { ExternalRuns } from '../../lib/ports/external-runs.ts';
import { inTier } from '../tier.ts';
import { createRunsTable, dynamoAt, dynamoImplementations } from './emulators/dynamo.ts';
import type { Emulator } from './emulators/emulator-process.ts';
import { openworkflowWorkerSuite } from './openworkflow-worker.suite.ts';

const publishedSuite = (connect: () => Promise<Backend>) => {
  test('a workflow with retries, parallel steps, a sleep, a child and a signal completes', async () => {
    const backend = await connect();
    const ow = new OpenWorkflow({ backend });
    const seen: string[] = [];
    const child = ow.defineWorkflow({ name: 'child' }, async ({ input, step }: { input: { n: number }; step: StepApi }) => {
      await step.sleep('nap', '50ms');
      return step.run({ name: 'double' }, () => input.n * 2);
    });
    const parent = ow.defineWorkflow(
      { name: 'parent', version: 'v1' },
      async ({
        input,
        step,
        version,
        run,
      }: {
        input: { n: number };
        step: StepApi;
        version: string | null;
        run: { id: string };
      }) => {
        const twice = await Promise.all([
          step.run({ name: 'a' }, () => input.n + 1),
          step.run({ name: 'b', retryPolicy: { initialInterval: '10ms' } }, () => {
            seen.push('b');
            if (seen.length === 1) throw new Error('the first time it fails');
            return input.n + 2;
          }),
        ]);
        const doubled = await step.runWorkflow(child.workflow.spec, { n: twice[0] + twice[1] });
        const approval = await step.waitForSignal<{ by: string }>({ signal: `approve:${run.id}` });
        const missed = await step.waitForSignal({ signal: 'never', timeout: '20ms' });
        await step.sleep('rest', '20ms');
        return { doubled, by: approval?.data.by, missed, version };
      },
    );
    const worker = ow.newWorker({ concurrency: 4 });
    await worker.start();
    try {
      const handle = await parent.run({ n: 1 }, { idempotencyKey: 'once' });
      const again = await parent.run({ n: 7 }, { idempotencyKey: 'once' });
      expect(again.workflowRun.id).toBe(handle.workflowRun.id);
      const signal = `approve:${handle.workflowRun.id}`;
      let reached: readonly string[] = [];
      // A store in memory responds at once. The delay lets the worker's timers fire.
      for (; reached.length === 0; await delay(20))
        reached = (await ow.sendSignal({ signal, data: { by: 'Ada' }, idempotencyKey: 'k' })).workflowRunIds;
      expect(reached).toEqual([handle.workflowRun.id]);
      expect(await handle.result({ timeoutMs: 40_000 })).toEqual({ doubled: 10, by: 'Ada', missed: null, version: 'v1' });
      expect(seen).toEqual(['b', 'b']);
    } finally {
      await worker.stop();
    }
    expect(await backend.countWorkflowRuns()).toEqual({ pending: 0, running: 0, completed: 2, failed: 0, canceled: 0 });
    await backend.stop();
  });

  test('a handle cancels its run, and the result of a failed run has the error', async () => {
    const backend = await connect();
    const ow = new OpenWorkflow({ backend });
    const failing = ow.defineWorkflow({ name: 'failing' }, () => {
      throw new Error('it is bad');
    });
    const handle = await failing.run(undefined, { availableAt: '1h' });
    await handle.cancel();
    await expect(handle.result()).rejects.toThrow('Workflow failing was canceled');
    const failed = await failing.run();
    const worker = ow.newWorker();
    expect(await worker.tick()).toBe(1);
    await worker.stop();
    await expect(failed.result()).rejects.toThrow(/^Workflow failing failed: .*it is bad/);
    await backend.stop();
  });
};

type Body = Parameters<Parameters<OpenWorkflow['implementWorkflow']>[1]>;
type StepApi = Body[0]['step'];

const onMemory = (store: ExternalRuns, namespaceId: string): Backend => {
  const clock = new SystemClock();
  const sleep = clock.sleep.bind(clock);
  return new ExternalRunsBackend({ store, clock, sleep, warn: () => {}, newId: randomUUID, random: Math.random }, namespaceId);
};

// The worker of the package has the same work on both. The quick tier keeps the one that users have.
describe.each(inTier({ quick: [], deep: ['memory'] }))('%s', () => {
  publishedSuite(async () => onMemory(new MemoryExternalRuns(), 'default'));
  const store = new MemoryExternalRuns();
  openworkflowWorkerSuite(async (namespaceId) => onMemory(store, namespaceId));

  test('a parent with 300 children completes within five seconds, with few polls', async () => {
    let [polls, entries] = [0, 0];
    const counted = new MemoryExternalRuns();
    const [reminders, append] = [counted.reminders.bind(counted), counted.append.bind(counted)];
    counted.reminders = (...given) => {
      polls += 1;
      return reminders(...given);
    };
    counted.append = (...given) => {
      entries += 1;
      return append(...given);
    };
    const ow = new OpenWorkflow({ backend: onMemory(counted, 'default') });
    const child = ow.defineWorkflow({ name: 'child' }, async ({ step }: { step: StepApi }) => step.run({ name: 's' }, () => 1));
    const parent = ow.defineWorkflow({ name: 'parent' }, async ({ step }: { step: StepApi }) =>
      Promise.all(Array.from({ length: 300 }, () => step.runWorkflow(child.workflow.spec))),
    );
    const worker = ow.newWorker({ concurrency: 350 });
    await worker.start();
    const startedAt = Date.now();
    const handle = await parent.run();
    expect(await handle.result({ timeoutMs: 30_000 })).toHaveLength(300);
    expect(Date.now() - startedAt).toBeLessThan(5_000);
    await worker.stop();
    // The worker polls for all 350 slots at once. Separate polls of each slot would be more than 3,000.
    expect(polls).toBeLessThan(60);
    // Each child's log has five entries. The four facts of each child in its parent's log share entries.
    expect(entries).toBeLessThan(300 * 5 + 100);
  });
});

for (const { name, start } of dynamoImplementations)
  describe(name, () => {
    let emulator: Emulator;
    let client: DynamoDBClient;
    let shared: string;
    beforeAll(async () => {
      emulator = await start();
      client = dynamoAt(emulator.endpoint);
      shared = (await createRunsTable(client)).name;
    });
    afterAll(async () => {
      client.destroy();
      await emulator.close();
    });
    publishedSuite(async () => BackendStepwell.connect({ tableName: (await createRunsTable(client)).name, client }));
    openworkflowWorkerSuite(async (namespaceId) => BackendStepwell.connect({ tableName: shared, client, namespaceId }));

    test('a poll without due runs costs one query for each shard, for 350 slots as for one', async () => {
      const own = dynamoAt(emulator.endpoint, { maxAttempts: 1 });
      const commands: string[] = [];
      own.middlewareStack.add(
        (next, { commandName }) =>
          (given) => {
            commands.push(String(commandName));
            return next(given);
          },
        { step: 'initialize' },
      );
      const backend = await BackendStepwell.connect({ tableName: shared, client: own, namespaceId: randomUUID() });
      commands.length = 0;
      const claims = Array.from({ length: 350 }, (_, slot) =>
        backend.claimWorkflowRun({ workerId: `w${slot}`, leaseDurationMs: 30_000 }),
      );
      expect((await Promise.all(claims)).every((run) => run === null)).toBe(true);
      expect(commands).toEqual(['QueryCommand', 'QueryCommand', 'QueryCommand', 'QueryCommand']);
      own.destroy();
    });
  });
