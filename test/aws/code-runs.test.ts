/** Runs of code in DynamoDB: the head with the platform, all the rest where the function of the code may write. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { MessageHeads } from '../../lib/aws/run-heads.ts';
import { DynamoRunIndex } from '../../lib/aws/run-index.ts';
import { headKey, logKey, projectionKey } from '../../lib/aws/run-keys.ts';
import { DynamoRunLog } from '../../lib/aws/run-log.ts';
import type { Table } from '../../lib/aws/table.ts';
import { commitNo, firstCommit, nodeKey } from '../../lib/engine/ids.ts';
import { isTombstone } from '../../lib/engine/log/tombstone.ts';
import { createControlTable, createRunsTable, dynamoAt, dynamoImplementations } from '../contract/emulators/dynamo.ts';
import type { Emulator } from '../contract/emulators/emulator-process.ts';
import { codeCreation, commit, creation, expiresAt, bundleNode, freshRun, noon } from '../contract/samples.ts';

let emulator: Emulator;
let client: DynamoDBClient;
let table: Table;
let code: DynamoRunLog;
const run = freshRun();
const created = codeCreation(run);

beforeAll(async () => {
  const [first] = dynamoImplementations;
  if (first === undefined) throw new Error('there is no emulator of DynamoDB');
  emulator = await first.start();
  client = dynamoAt(emulator.endpoint);
});
afterAll(async () => {
  client.destroy();
  await emulator.close();
});
beforeEach(async () => {
  table = await createRunsTable(client);
  await platform().create(created);
  const told = new MessageHeads();
  told.record(created);
  code = new DynamoRunLog(table, told);
});

/** A process that knows nothing yet. */
const platform = (): DynamoRunLog => new DynamoRunLog(table);

describe('what the function of the code writes', () => {
  test('the platform reads, whatever it asks for first, and the other way round', async () => {
    const [second, third] = [commit(2), commit(3)];
    await code.put(run, second, expiresAt);
    expect(await platform().commitsAfter(run, firstCommit)).toEqual([second]);
    await platform().put(run, third, expiresAt);
    expect(await code.commitsAfter(run, firstCommit)).toEqual([second, third]);
    expect(await platform().nextCommits([{ run, after: firstCommit }], 5)).toEqual([[second, third]]);
    expect(await table.get(logKey(run, 'platform', 2))).toBeUndefined();

    const beat = { node: nodeKey(bundleNode), at: noon, resends: 0 };
    await code.heartbeat(run, beat, expiresAt);
    expect(await platform().heartbeats(run)).toEqual([beat]);
    const snapshot = { asOf: commitNo(2), schema: 1, state: 'x' };
    await code.saveSnapshot(run, snapshot, expiresAt);
    expect(await platform().snapshot(run)).toEqual(snapshot);
    await platform().attach(run, 'input', 'large', created);
    expect(await code.attached(run, 'input')).toBe('large');
  });

  test('of a slot that is taken is refused on either side', async () => {
    await code.put(run, commit(2), expiresAt);
    expect(await platform().put(run, commit(2), expiresAt)).toMatchObject({ kind: 'occupied' });
  });

  test('is shown beside a head that nobody changes', async () => {
    const before = await table.get(headKey(run));
    await code.project(run, { status: 'running', asOf: commitNo(3), attention: 'waiting' });
    await platform().project(run, { status: 'running', asOf: commitNo(2) });
    expect((await platform().head(run))?.projection).toEqual({ status: 'running', asOf: 3, attention: 'waiting' });
    await platform().project(run, { status: 'failed', asOf: commitNo(4), endedAt: noon });
    await code.project(run, { status: 'running', asOf: commitNo(5) });
    const graph = freshRun(run);
    await platform().create(creation(graph));
    const heads = await platform().heads([run, graph, freshRun(run)]);
    expect(heads.map((head) => head?.projection.status)).toEqual(['failed', 'pending', undefined]);
    expect(await table.get(headKey(run))).toEqual(before);
    expect((await table.get(projectionKey(run)))?.['ttl']).toEqual(before?.['ttl']);
  });

  test('puts the run into the lists, once', async () => {
    await code.project(run, { status: 'running', asOf: commitNo(2), attention: 'waiting' });
    const log = platform();
    const index = new DynamoRunIndex({ runs: table, control: await createControlTable(client) }, log);
    const ids = async (page: ReturnType<typeof index.list>) => (await page).heads.map(({ address }) => address.runId);
    await expect.poll(() => ids(index.listByState(run, 'waiting', { limit: 5 }))).toEqual([run.runId]);
    expect(await ids(index.list(run, { limit: 5 }))).toEqual([run.runId]);
  });
});

test('a run of code that is forgotten leaves its slots taken, where they were, and nothing else', async () => {
  await code.put(run, commit(2), expiresAt);
  await code.heartbeat(run, { node: nodeKey(bundleNode), at: noon, resends: 0 }, expiresAt);
  await code.project(run, { status: 'cancelled', asOf: commitNo(2) });
  await platform().deleteRun(run, expiresAt);
  await platform().deleteRun(run, expiresAt);
  expect(await platform().head(run)).toBeUndefined();
  expect((await platform().commitsAfter(run, firstCommit)).map((each) => isTombstone(each))).toEqual([true]);
  expect(await platform().put(run, commit(2), expiresAt)).toMatchObject({ kind: 'occupied' });
  expect(await platform().heartbeats(run)).toEqual([]);
  expect(await table.get(projectionKey(run))).toBeUndefined();
  expect(await platform().create(created)).toMatchObject({ kind: 'occupied' });
});

test('the function of the code creates no run, and knows none that no message was about', async () => {
  expect(() => new MessageHeads().create(created)).toThrow('only the platform creates runs');
  expect(() => new MessageHeads().record(creation(run))).toThrow('is no run of code');
  expect(await code.head(freshRun())).toBeUndefined();
});
