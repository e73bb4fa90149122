/** Code runs in DynamoDB: the head is on the platform side, all other items are on the code side. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { MessageHeads } from '../../lib/aws/run-heads.ts';
import { DynamoRunIndex } from '../../lib/aws/run-index.ts';
import { expiry } from '../../lib/aws/item-schema.ts';
import { attachmentKey, headKey, logKey, projectionKey } from '../../lib/aws/run-keys.ts';
import { DynamoRunLog } from '../../lib/aws/run-log.ts';
import type { Table } from '../../lib/aws/table.ts';
import { runsTableKeys } from '../../lib/contract/environment.ts';
import { after, days } from '../../lib/engine/time.ts';
import { type RunAddress, commitNo, firstCommit, nodeKey } from '../../lib/engine/ids.ts';
import { isTombstone } from '../../lib/engine/log/commit.ts';
import { createControlTable, createRunsTable, dynamoAt, dynamoImplementations } from '../contract/emulators/dynamo.ts';
import type { Emulator } from '../contract/emulators/emulator-process.ts';
import { overrideMethods } from '../service/override-methods.ts';
import { codeCreation, commit, creation, expiresAt, bundleNode, freshRun, noon } from '../contract/samples.ts';

let emulator: Emulator;
let client: DynamoDBClient;
let table: Table;
let code: DynamoRunLog;
const run = freshRun();
const created = codeCreation(run);

beforeAll(async () => {
  const [first] = dynamoImplementations;
  if (first === undefined) throw new Error('no DynamoDB emulator is available');
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
  const heads = new MessageHeads();
  heads.recognize(created);
  code = new DynamoRunLog(table, heads);
});

/** A platform process without cached heads. */
const platform = (): DynamoRunLog => new DynamoRunLog(table);

test('an extension reaches each item of a code run on both sides', async () => {
  const later = { deadlineAt: after(noon, days(14)), expiresAt: after(noon, days(44)) };
  await code.put(run, commit(2), expiresAt);
  await code.project(run, { status: 'running', asOf: commitNo(2), attention: 'waiting' });
  await platform().attach(run, 'input', 'large', created);
  const log = platform();
  let position = await log.extendItems(run, later.expiresAt, { limit: 1 });
  while (position !== undefined) position = await log.extendItems(run, later.expiresAt, { limit: 1, after: position });
  await log.extendHead(run, later);
  const keys = [headKey(run), projectionKey(run, 'code'), logKey(run, 'code', 2), attachmentKey(run, 'code', 'input')];
  for (const key of keys) expect((await table.get(key))?.[runsTableKeys.expiry], key.sk).toEqual(expiry(later.expiresAt));
  await code.project(run, { status: 'running', asOf: commitNo(3) }, later.expiresAt);
  expect((await table.get(projectionKey(run, 'code')))?.[runsTableKeys.expiry]).toEqual(expiry(later.expiresAt));
});

describe('items of the code side', () => {
  test('platform and code functions read each other’s items', async () => {
    const [second, third] = [commit(2), commit(3)];
    await code.put(run, second, expiresAt);
    expect(await platform().commitsAfter(run, firstCommit)).toEqual([second]);
    await platform().put(run, third, expiresAt);
    expect(await code.commitsAfter(run, firstCommit)).toEqual([second, third]);
    const numbers = [commitNo(2), commitNo(3), commitNo(4)];
    expect(await platform().commits(numbers.map((number) => ({ run, number })))).toEqual([second, third, undefined]);
    expect(await table.get(logKey(run, 'platform', 2))).toBeUndefined();

    const heartbeat = { node: nodeKey(bundleNode), at: noon, resends: 0 };
    await code.heartbeat(run, heartbeat, expiresAt);
    expect(await platform().heartbeats(run)).toEqual([heartbeat]);
    const snapshot = { asOf: commitNo(2), schema: 1, state: 'x' };
    await code.saveSnapshot(run, snapshot, expiresAt);
    expect(await platform().snapshot(run)).toEqual(snapshot);
    await platform().attach(run, 'input', 'large', created);
    expect(await code.attached(run, 'input')).toBe('large');
  });

  test('a commit that is prepared before its run is an item of the code side', async () => {
    const own = freshRun(run);
    const second = commit(2);
    await platform().prepare(own, second, created);
    expect(await table.get(logKey(own, 'platform', 2))).toBeUndefined();
    await platform().create({ ...created, address: own });
    expect(await platform().commitsAfter(own, firstCommit)).toEqual([second]);
  });

  test('a commit number that is taken is refused for both', async () => {
    await code.put(run, commit(2), expiresAt);
    expect(await platform().put(run, commit(2), expiresAt)).toMatchObject({ kind: 'occupied' });
  });

  test('a projection does not change the head', async () => {
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
    expect((await table.get(projectionKey(run, 'code')))?.['ttl']).toEqual(before?.['ttl']);
  });

  test('a projection adds the run to the lists once', async () => {
    await code.project(run, { status: 'running', asOf: commitNo(2), attention: 'waiting' });
    const log = platform();
    const index = new DynamoRunIndex({ runs: table, control: await createControlTable(client) }, log);
    const ids = async (page: ReturnType<typeof index.list>) => (await page).heads.map(({ address }) => address.runId);
    await expect.poll(() => ids(index.listByState(run, 'waiting', { limit: 5 }))).toEqual([run.runId]);
    expect(await ids(index.list(run, { limit: 5 }))).toEqual([run.runId]);
  });
});

test('a guess saves the read of a projection that a graph run does not have, and a wrong one costs a request', async () => {
  const graph = freshRun(run);
  await platform().create(creation(graph));
  await code.project(run, { status: 'failed', asOf: commitNo(4), endedAt: noon });
  const requests: (readonly string[])[] = [];
  const watched = overrideMethods(table, {
    getAll: (keys) => {
      requests.push(keys.map(({ sk }) => sk));
      return table.getAll(keys);
    },
  });
  const { sk: head } = headKey(graph);
  const { sk: projection } = projectionKey(run, 'code');
  const statusesWith = async (guessed: readonly RunAddress[]) => {
    requests.length = 0;
    const log = new DynamoRunLog(watched);
    for (const each of guessed) log.guess(each, 'graph');
    return (await log.heads([run, graph])).map((each) => each?.projection.status);
  };
  expect(await statusesWith([])).toEqual(['failed', 'pending']);
  expect(requests).toEqual([[head, head, projection, projection]]);
  expect(await statusesWith([graph])).toEqual(['failed', 'pending']);
  expect(requests).toEqual([[head, head, projection]]);
  expect(await statusesWith([run, graph])).toEqual(['failed', 'pending']);
  expect(requests).toEqual([[head, head], [projection]]);
});

describe('a process that has not read the run', () => {
  /** The sort keys of the reads, each when it begins and when it ends. */
  const reading = async (guess: (log: DynamoRunLog) => void) => {
    const order: string[] = [];
    const watched = overrideMethods(table, {
      get: async (key) => {
        order.push(`begin ${key.sk}`);
        const found = await table.get(key);
        order.push(`end ${key.sk}`);
        return found;
      },
    });
    const log = new DynamoRunLog(watched);
    guess(log);
    const [head, commits] = await Promise.all([log.head(run), log.commitsAfter(run, firstCommit)]);
    return { order, found: [head?.projection.status, commits.length] };
  };

  test('reads the projection beside the head of a run that it guesses to be code', async () => {
    await code.put(run, commit(2), expiresAt);
    await code.project(run, { status: 'running', asOf: commitNo(2) });
    const begins = (order: readonly string[]) => order.findIndex((each) => each.startsWith('end'));
    const guessed = await reading((log) => log.guess(run, 'code'));
    const unaware = await reading(() => {});
    const wrong = await reading((log) => log.guess(run, 'devkit'));
    expect([begins(guessed.order), begins(unaware.order)]).toEqual([2, 1]);
    expect([guessed.found, unaware.found, wrong.found]).toEqual([
      ['running', 1],
      ['running', 1],
      ['running', 1],
    ]);
  });
});

test('a deleted code run leaves only its tombstones', async () => {
  await code.put(run, commit(2), expiresAt);
  await code.heartbeat(run, { node: nodeKey(bundleNode), at: noon, resends: 0 }, expiresAt);
  await code.project(run, { status: 'cancelled', asOf: commitNo(2) });
  await platform().deleteRun(run, expiresAt);
  await platform().deleteRun(run, expiresAt);
  expect(await platform().head(run)).toBeUndefined();
  expect((await platform().commitsAfter(run, firstCommit)).map((each) => isTombstone(each))).toEqual([true]);
  expect(await platform().put(run, commit(2), expiresAt)).toMatchObject({ kind: 'occupied' });
  expect(await platform().heartbeats(run)).toEqual([]);
  expect(await table.get(projectionKey(run, 'code'))).toBeUndefined();
  expect(await platform().create(created)).toMatchObject({ kind: 'occupied' });
});

test('the code function knows that another process has finalized a run', async () => {
  expect(await code.isFinalized(run)).toBe(false);
  await platform().project(run, { status: 'completed', asOf: commitNo(2), endedAt: noon });
  expect(await code.isFinalized(run)).toBe(true);
});

test('the code function cannot create runs and knows only runs of its messages', async () => {
  expect(() => new MessageHeads().create(created)).toThrow('only platform functions create runs');
  expect(() => new MessageHeads().recognize(creation(run))).toThrow('is not a run of deployed code');
  expect(await code.head(freshRun())).toBeUndefined();
});
