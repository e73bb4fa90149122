/** What an emulator cannot show: every request that the stores send, written down and looked at. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import { DynamoAudit } from '../../lib/aws/audit.ts';
import { DynamoDeployments } from '../../lib/aws/deployments.ts';
import { DynamoKeys } from '../../lib/aws/keys.ts';
import { dynamoLenses, dynamoWorkflows } from '../../lib/aws/published.ts';
import { DynamoReservations } from '../../lib/aws/control.ts';
import { DynamoRateWindows } from '../../lib/aws/rate-windows.ts';
import { DynamoRunIndex } from '../../lib/aws/run-index.ts';
import { DynamoRunLog } from '../../lib/aws/run-log.ts';
import { Table } from '../../lib/aws/table.ts';
import { commitNo, firstCommit, keyId, lensName, nodeKey, workflowName } from '../../lib/engine/ids.ts';
import { dynamoAt } from '../contract/emulators/dynamo.ts';
import { type Recorder, startRecorder } from '../contract/emulators/recorder.ts';
import { commit, creation, expiresAt, bundleNode, freshRun, manifestOf, noon } from '../contract/samples.ts';

const attribute = z.looseObject({ S: z.string().optional(), N: z.string().optional() });
const request = z.looseObject({
  TableName: z.string().optional(),
  RequestItems: z.record(z.string(), z.unknown()).optional(),
  ConsistentRead: z.boolean().optional(),
  IndexName: z.string().optional(),
  ConditionExpression: z.string().optional(),
  Item: z.record(z.string(), attribute).optional(),
  ExpressionAttributeValues: z.record(z.string(), attribute).optional(),
});
type Request = z.output<typeof request> & { readonly operation: string };

let recorder: Recorder;
let requests: readonly Request[] = [];
const written = { Attributes: { taken: { N: '1' }, revokedAt: { N: '1' } } };

beforeAll(async () => {
  recorder = await startRecorder(() => ({ status: 200, body: written }));
  const client = dynamoAt(recorder.endpoint);
  const runs = new Table(client, 'runs');
  const control = new Table(client, 'control');
  const run = freshRun();
  const order = workflowName('order');

  const log = new DynamoRunLog(runs);
  await log.create(creation(run));
  await log.put(run, commit(2), expiresAt);
  await log.head(run);
  await log.commitsAfter(run, firstCommit);
  await log.heads([run]);
  await log.commits([2, 3].map((number) => ({ run, number: commitNo(number) })));
  await log.project(run, { status: 'running', asOf: commitNo(2), attention: 'waiting' });
  await log.attach(run, 'input', 1, { expiresAt, kind: 'graph' });
  await log.attached(run, 'input');
  await log.heartbeat(run, { node: nodeKey(bundleNode), at: noon, resends: 0 }, expiresAt);
  await log.heartbeats(run);
  await log.saveSnapshot(run, { asOf: commitNo(2), schema: 1, state: null }, expiresAt);
  await log.snapshot(run);

  const index = new DynamoRunIndex({ runs, control }, log);
  await index.list(run, { limit: 5 });
  await index.listByState(run, 'failed', { limit: 5 });
  await index.markDue({ run, minute: 29_000_000 });
  await index.markDueTogether({ scope: run, runIds: [run.runId, freshRun().runId], minute: 29_000_000 });
  await index.dueIn(29_000_000);
  await index.firstDueMinute(29_000_000, 29_000_001);
  await index.sweptMinute();
  await index.recordSweptMinute(29_000_000);

  const workflows = dynamoWorkflows(control);
  await workflows.putVersion(run, { name: order, version: 1, nodes: [], edges: [], options: {} }, noon);
  await workflows.version(run, order, 1);
  await workflows.advance(run, { name: order, version: 1 }, noon);
  await workflows.summary(run, order);
  await workflows.list(run, { limit: 5, archived: false });
  await workflows.archive(run, order, noon);

  const lenses = dynamoLenses(control);
  const tone = lensName('tone');
  await lenses.putVersion(run, { name: tone, version: 1, kind: 'text', template: 'x' }, noon);
  await lenses.version(run, tone, 1);
  await lenses.advance(run, { name: tone, version: 1 }, noon);
  await lenses.summary(run, tone);
  await lenses.list(run, { limit: 5, archived: false });
  await lenses.archive(run, tone, noon);

  const reservation = { runId: run.runId, bodyHash: 'ab', reservedAt: noon, owner: 'me' };
  const reservations = new DynamoReservations(control);
  await reservations.reserve(run, 'POST /v1/runs', 'key', reservation, { notBefore: noon, expiresAt });
  await reservations.release(run, 'POST /v1/runs', 'key', 'me');

  const keys = new DynamoKeys(control);
  await keys.key(keyId('operator'));
  await keys.putKey({ keyId: keyId('operator'), ...run, scopes: ['admin'], secretHash: 'ab', createdAt: noon });
  await keys.listKeys(run, { limit: 5 });
  await keys.revokeKey(run, keyId('operator'), noon);
  await keys.replaceKey(run, keyId('operator'), { replacedBy: keyId('successor'), expiresAt });
  const entry = { at: noon, keyId: null, scope: run, action: 'a', resource: 'r', result: 'success', metadata: {} } as const;
  await new DynamoAudit(control).record('one', entry, expiresAt);
  await new DynamoAudit(control).listEntries(run, { limit: 5, before: { at: noon, id: '' }, since: noon });
  await new DynamoRateWindows(control).take(keyId('operator'), noon, 1);

  const deployments = new DynamoDeployments(control);
  const manifest = manifestOf('dep_1');
  await deployments.create(run, { manifest, createdAt: noon, createdBy: null });
  await deployments.deployment(run, manifest.deploymentId);
  await deployments.list(run, { limit: 5 });
  await deployments.markVerified(run, manifest.deploymentId, noon);
  await deployments.setRemoving(run, manifest.deploymentId, null);
  await deployments.pointer(run);
  await deployments.movePointer(run, 0, { revision: 1, apps: [] });
  await deployments.movePointer(run, 1, { revision: 2, apps: [] });
  await deployments.pin(run, manifest.deploymentId, run.runId, { since: noon, expiresAt });
  await deployments.unpin(run, manifest.deploymentId, run.runId);
  await deployments.pinnedRuns(run, manifest.deploymentId, 5);

  requests = recorder.requests.map(({ headers, body }) => ({
    operation: String(headers['x-amz-target']).split('.')[1] ?? '',
    ...request.parse(JSON.parse(body)),
  }));
});
afterAll(() => recorder.close());

const of = (...operations: readonly string[]) => requests.filter(({ operation }) => operations.includes(operation));

test('writes are single items, batches only read, and there are no scans and no transactions', () => {
  expect(new Set(requests.map(({ operation }) => operation))).toEqual(
    new Set(['PutItem', 'UpdateItem', 'DeleteItem', 'GetItem', 'BatchGetItem', 'Query']),
  );
});

test('every read is strongly consistent, except reads of the two indexes', () => {
  const [weak, strong] = [false, true].map((isStrong) =>
    of('GetItem', 'Query').filter(({ ConsistentRead }) => (ConsistentRead ?? false) === isStrong),
  );
  expect(new Set(weak?.map(({ IndexName }) => IndexName))).toEqual(new Set(['byProject', 'byState']));
  expect(strong?.every(({ IndexName }) => IndexName === undefined)).toBe(true);
  expect(strong?.length).toBeGreaterThan(10);
});

test('the runs of a project and of a state are spread over eight partitions each', () => {
  for (const index of ['byProject', 'byState']) {
    const read = of('Query').filter(({ IndexName }) => IndexName === index);
    const partitions = read.map(({ ExpressionAttributeValues: values }) => values?.[':p']?.S ?? '');
    expect(new Set(partitions.map((partition) => partition.split('#').at(-1)))).toEqual(new Set('01234567'));
  }
  const projected = of('UpdateItem').find(({ ExpressionAttributeValues: values }) => values?.[':sp'] !== undefined);
  expect(projected?.ExpressionAttributeValues?.[':sp']?.S).toMatch(/#production#waiting#[0-7]$/);
});

test('batch reads are strongly consistent', () => {
  expect(of('BatchGetItem')).toHaveLength(2);
  for (const { RequestItems } of of('BatchGetItem')) expect(RequestItems).toMatchObject({ runs: { ConsistentRead: true } });
});

test('every item of the runs table has an expiry', () => {
  const items = of('PutItem').filter(({ TableName }) => TableName === 'runs');
  expect(items).toHaveLength(7);
  for (const { Item } of items)
    expect(Item?.['ttl'], JSON.stringify(Item?.['sk'])).toEqual({ N: expect.stringMatching(/^\d{10}$/) });
});

test('a due entry is retained while the sweep is down for a month', () => {
  const due = of('PutItem').filter(({ Item }) => Item?.['pk']?.S?.startsWith('due#'));
  const until = String(29_000_000 * 60 + 30 * 86_400);
  expect(due.map(({ Item }) => Item?.['ttl']?.N)).toEqual([until, until]);
});

test('temporary items of the control table have an expiry, and permanent ones do not', () => {
  const items = of('PutItem').filter(({ TableName }) => TableName === 'control');
  const expiring = items.filter(({ Item }) => Item?.['ttl'] !== undefined).map(({ Item }) => Item?.['pk']?.S);
  expect(expiring.map((pk) => pk?.split('#')[0])).toEqual(['idempotency', 'audit', 'pin']);
  const rate = of('UpdateItem').find(({ ExpressionAttributeValues: values }) => values?.[':expiry'] !== undefined);
  expect(rate?.ExpressionAttributeValues?.[':expiry']).toEqual({ N: String(Math.ceil(noon / 1_000) + 3_600) });
});

test('every write that could overwrite another writer’s has a condition', () => {
  const unconditional = requests.filter(
    ({ operation, ConditionExpression }) => !['GetItem', 'BatchGetItem', 'Query'].includes(operation) && !ConditionExpression,
  );
  // Last writer wins: a heartbeat. Idempotent: a due entry, a key pointer, an audit entry, a deployment's list entry, a pin. Additive: a rate window.
  const sortKeys = unconditional.map(({ Item }) => (Item?.['sk']?.S ?? 'an addition').replace(/#?wrun_.*|Z#one$/, ''));
  expect(sortKeys).toEqual([
    'heartbeat#fetch-1',
    expect.stringMatching(/^0029000000#project_\d+#production$/),
    expect.stringMatching(/^0029000000#project_\d+#production#[0-9a-f]{32}$/),
    '2026-05-01T12:00:00.123Z#operator',
    '2026-05-01T12:00:00.123',
    'an addition',
    'at#2026-05-01T12:00:00.123Z#dep_1',
    'run',
  ]);
});
