/** The deletion of a workflow in the embedded cloud: by the sweep with its own role, from the tables and the bucket. */
import { DynamoDBClient, ScanCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import { DynamoDeletions } from '../../lib/aws/deletions.ts';
import { Table } from '../../lib/aws/table.ts';
import { environmentNames } from '../../lib/contract/environment.ts';
import { instant } from '../../lib/engine/time.ts';
import { awsEnvironment } from '../../lib/local/aws-environment.ts';
import { type InProcessCloud, startInProcessCloud } from './in-process-cloud.ts';

let cloud: InProcessCloud;
let client: DynamoDBClient;
beforeAll(async () => {
  cloud = await startInProcessCloud();
  const { url: endpoint, accessKeyId, secretAccessKey } = cloud.cloud.tables;
  client = new DynamoDBClient({ endpoint, region: awsEnvironment.region, credentials: { accessKeyId, secretAccessKey } });
});
afterAll(async () => {
  client.destroy();
  await cloud.stop();
});

const tableOf = (which: 'runsTable' | 'controlTable'): string => {
  const variables = cloud.cloud.template.of('AWS::Lambda::Function').map(({ properties }) => properties['Environment']);
  return new RegExp(`"${environmentNames[which]}":"([^"]+)"`).exec(JSON.stringify(variables))?.[1] ?? '';
};
const sweep = async (): Promise<void> => {
  const [, fn] = [...cloud.cloud.functions].find(([name]) => /Sweep/i.test(name)) ?? [];
  expect(await fn?.invoke('{}')).toMatchObject({ kind: 'returned' });
};
const started = z.looseObject({ runId: z.string() });
const start = async (workflowName: string, key: string, input: unknown = {}) => {
  const { body } = await cloud.call('POST', '/v1/runs', { workflowName, input }, { 'idempotency-key': key });
  return started.parse(body).runId;
};
const statusOf = async (runId: string) => (await cloud.call('GET', `/v1/runs/${runId}`)).body;

/** Waits for a signal after a node with a large output. */
const waiting = {
  name: 'order',
  nodes: [
    { id: 'start', type: 'start' },
    { id: 'large', type: 'javascript', config: { code: 'return { text: Array.from({ length: 40000 }, Math.random).join() }' } },
    { id: 'paid', type: 'signal', config: { name: 'paid' } },
    { id: 'end', type: 'end' },
  ],
  edges: [
    { source: 'start', target: 'large' },
    { source: 'large', target: 'paid' },
    { source: 'paid', target: 'end' },
  ],
};

test('its open and ended runs are deleted, and its name is free for a new workflow', async () => {
  expect((await cloud.call('POST', '/v1/workflows', waiting)).status).toBe(201);
  expect((await cloud.call('POST', '/v1/workflows', { ...waiting, name: 'other' })).status).toBe(201);
  const [open, ended, other] = [await start('order', 'one'), await start('order', 'two'), await start('other', 'three')];
  for (const runId of [open, ended, other])
    await expect.poll(async () => JSON.stringify(await statusOf(runId)), { timeout: 30_000 }).toContain('"waiting"');
  await cloud.call('POST', `/v1/runs/${ended}/signals`, { name: 'paid' });
  await expect.poll(() => statusOf(ended), { timeout: 30_000 }).toMatchObject({ status: 'completed' });

  const asked = await cloud.call('POST', '/v1/workflows/order/delete', { confirm: 'order' });
  expect([asked.status, asked.body]).toMatchObject([202, { deletion: { state: 'finding_runs' } }]);
  await sweep();
  await expect.poll(async () => (await cloud.call('GET', '/v1/workflows/order')).status, { timeout: 90_000 }).toBe(404);
  for (const runId of [open, ended]) expect(await statusOf(runId)).toMatchObject({ code: 'not_found' });
  expect(await statusOf(other)).toMatchObject({ status: 'running' });

  const left = await client.send(new ScanCommand({ TableName: tableOf('runsTable') }));
  const items = (left.Items ?? []).filter((item) => [open, ended].some((runId) => item['pk']?.S?.endsWith(`#${runId}`) === true));
  expect(items.length).toBeGreaterThan(2);
  // The tombstones of commits and of the head contain no data of the run.
  for (const item of items) {
    expect(item['sk']?.S).toMatch(/^(head|log#\d+)$/);
    expect(JSON.stringify(item).length).toBeLessThan(400);
  }

  expect((await cloud.call('GET', '/v1/audit')).body).toMatchObject({
    data: expect.arrayContaining([
      expect.objectContaining({
        action: 'workflows.deleted',
        resource: 'workflow/order',
        metadata: expect.objectContaining({ runs: 2 }),
      }),
    ]),
  });
  expect((await cloud.call('POST', '/v1/workflows', waiting)).body).toMatchObject({ version: 2 });
  const again = await cloud.call('POST', '/v1/runs', { workflowName: 'order', input: {} }, { 'idempotency-key': 'one' });
  expect([again.status, again.body]).toMatchObject([409, { code: 'run_deleted' }]);
  expect(await statusOf(await start('order', 'four'))).toMatchObject({ workflowVersion: 2 });
});

test('after the settling time the old versions and the deletion record are deleted', async () => {
  const table = new Table(client, tableOf('controlTable'));
  const deletions = new DynamoDeletions(table);
  // The record's time is moved twenty minutes back.
  for (const each of await deletions.all())
    expect(await deletions.replace({ ...each, settledAt: instant(0), revision: each.revision + 1 })).toBe(true);
  await sweep();
  await expect.poll(() => deletions.all(), { timeout: 90_000 }).toEqual([]);
  const left = await client.send(new ScanCommand({ TableName: table.name }));
  const keys = (left.Items ?? []).map((item) => `${item['pk']?.S} ${item['sk']?.S}`);
  expect(keys.filter((key) => /^deletions?#/.test(key))).toEqual([]);
  expect(keys.filter((key) => /^workflow#.*#order /.test(key))).toEqual([expect.stringMatching(/ version#0*2$/)]);
});
