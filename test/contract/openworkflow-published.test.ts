/** The published package's own client and worker, over the backend, in real time. */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { OpenWorkflow } from 'openworkflow';
import type { Backend } from 'openworkflow/internal';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { SystemClock } from '../../lib/aws/system-clock.ts';
import { MemoryPolledRuns } from '../../lib/memory/polled-runs.ts';
import { PolledBackend } from '../../lib/openworkflow/backend/backend.ts';
import { BackendStepwell } from '../../lib/openworkflow/backend/index.ts';
import { createRunsTable, dynamoAt, dynamoImplementations } from './emulators/dynamo.ts';
import type { Emulator } from './emulators/emulator-process.ts';

const publishedSuite = (connect: () => Promise<Backend>) => {
  test('a workflow with retries, parallel steps, a sleep, a child and a signal comes to its end', async () => {
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
      // A store in memory answers at once: the worker's own timers have to have their turn.
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

  test('a run is cancelled by its handle, and a failed one says why', async () => {
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

describe('memory', () => {
  publishedSuite(async () => {
    const parts = { store: new MemoryPolledRuns(), clock: new SystemClock(), newId: randomUUID, chance: Math.random };
    return new PolledBackend(parts, 'default');
  });
});

for (const { name, start } of dynamoImplementations)
  describe(name, () => {
    let emulator: Emulator;
    let client: DynamoDBClient;
    beforeAll(async () => {
      emulator = await start();
      client = dynamoAt(emulator.endpoint);
    });
    afterAll(async () => {
      client.destroy();
      await emulator.close();
    });
    publishedSuite(async () => BackendStepwell.connect({ tableName: (await createRunsTable(client)).name, client }));
  });
