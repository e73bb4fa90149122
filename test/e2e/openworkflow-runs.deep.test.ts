/** Runs of the published package `openworkflow` as the API, the client and the CLI show them, on the embedded cloud. */
import { execFile } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { OpenWorkflow } from 'openworkflow';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { StepwellClient } from '../../lib/client/index.ts';
import { environmentNames } from '../../lib/contract/environment.ts';
import { awsEnvironment } from '../../lib/local/aws-environment.ts';
import { BackendStepwell } from '../../lib/openworkflow/backend/index.ts';
import { type InProcessCloud, startInProcessCloud } from './in-process-cloud.ts';
import { freshFolder, root } from './local-start.ts';

type StepApi = Parameters<Parameters<OpenWorkflow['implementWorkflow']>[1]>[0]['step'];

let served: InProcessCloud;
let client: StepwellClient;
let dynamo: DynamoDBClient;
beforeAll(async () => {
  served = await startInProcessCloud();
  client = new StepwellClient({ baseUrl: served.url, apiKey: served.apiKey });
  const { url: endpoint, ...credentials } = served.cloud.tables;
  dynamo = new DynamoDBClient({ endpoint, region: awsEnvironment.region, credentials });
});
afterAll(async () => {
  dynamo.destroy();
  await served.stop();
});

const connect = (namespaceId?: string): Promise<BackendStepwell> => {
  const tableName = served.cloud.worker?.[environmentNames.runsTable] ?? '';
  return BackendStepwell.connect({ tableName, client: dynamo, ...(namespaceId !== undefined && { namespaceId }) });
};

const home = freshFolder();
const stepwell = async (...args: readonly string[]): Promise<{ readonly stdout: string; readonly code: number }> => {
  const env = { ...process.env, HOME: home, STEPWELL_URL: served.url, STEPWELL_API_KEY: served.apiKey };
  try {
    const { stdout } = await promisify(execFile)(process.execPath, ['bin/stepwell-cli.mjs', ...args], { cwd: root, env });
    return { stdout, code: 0 };
  } catch (error) {
    if (error instanceof Error && 'stdout' in error && 'code' in error)
      return { stdout: String(error.stdout), code: Number(error.code) };
    throw error;
  }
};

test('a failed run of the library is listed, shown, explained and watched like any other', async () => {
  const backend = await connect('default/local');
  const ow = new OpenWorkflow({ backend });
  const child = ow.defineWorkflow({ name: 'pack items' }, async ({ step }: { step: StepApi }) =>
    step.run({ name: 'pack' }, () => 'packed'),
  );
  const order = ow.defineWorkflow({ name: 'ship order', version: 'v2' }, async ({ step }: { step: StepApi }) => {
    await step.runWorkflow(child.workflow.spec);
    const paid = await step.run({ name: 'charge' }, () => ({ id: 'p-1' }));
    return step.run({ name: 'ship', retryPolicy: { initialInterval: '10ms', maximumAttempts: 2 } }, () => {
      throw new RangeError(`no carrier for ${paid.id}`);
    });
  });
  const worker = ow.newWorker({ concurrency: 4 });
  await worker.start();
  const handle = await order.run({ orderId: '4711' });
  const runId = handle.workflowRun.id;
  const updates: string[] = [];
  for await (const { type } of client.watchRun(runId)) updates.push(type);
  await expect(handle.result()).rejects.toThrow('no carrier for p-1');
  await worker.stop();
  expect(updates.at(0)).toBe('input.set');
  expect(updates.at(-1)).toBe('run.failed');
  expect(updates).toEqual(
    expect.arrayContaining(['run.started', 'node.started', 'node.completed', 'node.failed', 'subflow.called']),
  );

  const { data: listed } = await client.listRuns({ status: 'failed' });
  expect(listed).toMatchObject([
    {
      runId,
      isExternal: true,
      status: 'failed',
      workflowName: 'ship order',
      version: 'v2',
      error: { message: 'no carrier for p-1' },
    },
  ]);
  expect((await client.listRuns()).data.map((run) => run.runId)).toEqual([runId]);
  expect(
    (await client.listRuns({ includeChildren: 'true' })).data.map(({ workflowName, calledBy }) => [
      workflowName,
      calledBy?.runId,
    ]),
  ).toEqual([
    ['pack items', runId],
    ['ship order', undefined],
  ]);

  const run = await client.getRun(runId);
  expect(run).toMatchObject({
    status: 'failed',
    input: { orderId: '4711' },
    rootCause: { nodeId: 'ship', attempt: 2, error: { code: 'RangeError', message: 'no carrier for p-1' } },
    nodes: [
      { type: 'workflow', status: 'completed', childRunId: expect.any(String) },
      { nodeId: 'charge', type: 'function', status: 'completed', attempt: 1, output: { id: 'p-1' } },
      { nodeId: 'ship', type: 'function', status: 'failed', attempt: 2 },
    ],
  });
  expect(run.rootCause?.error.details?.['stack']).toContain('openworkflow-runs.deep.test.ts');
  expect((await client.getRun(run.nodes[0]?.childRunId ?? '')).output).toBe('packed');
  const events = await client.listRunEvents(runId, { limit: 3 });
  expect(events).toMatchObject({ data: [{ eventId: 1 }, { eventId: 2 }, { eventId: 3 }], cursor: '3', hasMore: true });

  expect((await stepwell('runs', 'list')).stdout).toMatch(
    new RegExp(`${runId}.*failed.*ship order.*RangeError: no carrier for p-1`),
  );
  expect((await stepwell('runs', 'get', runId)).stdout).toMatch(/ship +function +✗ failed +2/);
  expect((await stepwell('explain', runId)).stdout).toMatch(
    /Root cause: .*ship, attempt 2: no carrier for p-1 \(RangeError\), at .*openworkflow-runs\.deep\.test\.ts:\d+:\d+/,
  );
  expect((await stepwell('runs', 'events', runId)).stdout).toMatch(/node\.failed +ship +attempt 2 +RangeError: no carrier/);
  const watched = await stepwell('runs', 'watch', runId);
  expect(watched).toMatchObject({ code: 1, stdout: expect.stringMatching(/run\.failed[^]*✗ failed/) });
});

test('requests that only the library can fulfil name the way out', async () => {
  const backend = await connect('default/local');
  const ow = new OpenWorkflow({ backend });
  const later = ow.defineWorkflow({ name: 'later' }, () => 1);
  const { workflowRun } = await later.run(undefined, { availableAt: '1h' });
  for (const [method, path, body] of [
    ['POST', `/v1/runs/${workflowRun.id}/rerun`, undefined],
    ['POST', `/v1/runs/${workflowRun.id}/wake`, undefined],
    ['POST', '/v1/runs/resume', { runId: workflowRun.id }],
    ['POST', `/v1/runs/${workflowRun.id}/stop`, undefined],
  ] as const) {
    const { status, body: refused } = await served.call(method, path, body, { 'idempotency-key': 'k' });
    expect({ path, status, refused }).toMatchObject({ status: 409, refused: { code: 'external_run' } });
  }
});

test('a run of another namespace is not visible', async () => {
  for (const namespaceId of ['default/other', 'elsewhere', undefined]) {
    const backend = await connect(namespaceId);
    const hidden = new OpenWorkflow({ backend }).defineWorkflow({ name: 'hidden' }, () => 1);
    const { workflowRun } = await hidden.run();
    expect((await served.call('GET', `/v1/runs/${workflowRun.id}`)).status).toBe(404);
    await delay(10);
    expect(JSON.stringify((await served.call('GET', '/v1/runs')).body)).not.toContain(workflowRun.id);
  }
});
