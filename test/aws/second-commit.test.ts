/** Commit 2 in a head, for processes that do not know the run: where they look for it, and which request has which age. */
import { GetItemCommand, UpdateItemCommand, type DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { DynamoRunLog } from '../../lib/aws/run-log.ts';
import { headKey, logKey } from '../../lib/aws/run-keys.ts';
import type { Table } from '../../lib/aws/table.ts';
import { commitNo, firstCommit, secondCommit } from '../../lib/engine/ids.ts';
import { tombstoneNonce } from '../../lib/engine/log/commit.ts';
import type { GraphCreation } from '../../lib/engine/log/head.ts';
import { Unavailable } from '../../lib/ports/unavailable.ts';
import { createRunsTable, dynamoAt, dynamoImplementations } from '../contract/emulators/dynamo.ts';
import type { Emulator } from '../contract/emulators/emulator-process.ts';
import { commit, creation, expiresAt, freshRun, noon, numbersOf } from '../contract/samples.ts';

const [implementation] = dynamoImplementations;
if (implementation === undefined) throw new Error('no DynamoDB emulator is available');
let emulator: Emulator;
let client: DynamoDBClient;
let table: Table;
let run: GraphCreation;
beforeAll(async () => {
  emulator = await implementation.start();
  client = dynamoAt(emulator.endpoint);
  table = await createRunsTable(client);
});
afterAll(async () => {
  client.destroy();
  await emulator.close();
});
beforeEach(async () => {
  run = creation(freshRun(), { holdsSecondCommit: true });
  await aProcess().create(run);
});

/** It knows no run. */
const aProcess = (): DynamoRunLog => new DynamoRunLog(table);
const end = { status: 'completed', asOf: secondCommit, endedAt: noon } as const;

test('it is an attribute of the head and no item of its own', async () => {
  await aProcess().put(run.address, commit(2), expiresAt, end);
  expect(await table.get(logKey(run.address, 'platform', 2))).toBeUndefined();
  expect(await table.get(headKey(run.address))).toHaveProperty('n2');
});

test('a process that does not know the run finds it taken, and reads it', async () => {
  const mine = commit(2);
  await aProcess().put(run.address, mine, expiresAt);
  await aProcess().put(run.address, commit(3), expiresAt);
  expect(await aProcess().put(run.address, commit(2), expiresAt, end)).toEqual({ kind: 'occupied', nonce: mine.nonce });
  expect(numbersOf(await aProcess().commitsAfter(run.address, firstCommit))).toEqual([2, 3]);
  expect(numbersOf(await aProcess().commitsAfter(run.address, secondCommit))).toEqual([3]);
  expect(await aProcess().commits([{ run: run.address, number: secondCommit }])).toEqual([mine]);
});

test('a process that does not know the run finds its tombstone', async () => {
  await aProcess().put(run.address, commit(2), expiresAt, end);
  await aProcess().deleteRun(run.address, expiresAt);
  expect(await aProcess().put(run.address, commit(2), expiresAt, end)).toEqual({ kind: 'occupied', nonce: tombstoneNonce });
  expect(await aProcess().commitsAfter(run.address, firstCommit)).toMatchObject([{ number: 2, nonce: tombstoneNonce }]);
});

test('a run that ended in commit 1 takes no commit 2 after its deletion', async () => {
  const log = aProcess();
  await log.deleteRun(run.address, expiresAt);
  expect(await log.put(run.address, commit(2), expiresAt)).toEqual({ kind: 'occupied', nonce: tombstoneNonce });
  expect(await table.get(headKey(run.address))).not.toHaveProperty('n2');
});

test.each([
  ['which it knows', true],
  ['which it does not know', false],
])('of an expired run, %s, a process learns that the run is unavailable', async (_name, isKnown) => {
  const log = aProcess();
  if (isKnown) log.recognize(run);
  await table.delete(headKey(run.address), { expression: 'attribute_exists(pk)' });
  await expect(log.put(run.address, commit(2), expiresAt, end)).rejects.toThrow(Unavailable);
  expect(await table.get(headKey(run.address))).toBeUndefined();
});

test('a process that takes another head for the stored one does not fork the log', async () => {
  const stored = creation(freshRun());
  const { address } = stored;
  await aProcess().create(stored);
  const mine = commit(2);
  await aProcess().put(address, mine, expiresAt);
  const log = aProcess();
  log.recognize({ ...stored, holdsSecondCommit: true });
  await expect(log.put(address, commit(2), expiresAt)).rejects.toThrow(Unavailable);
  expect(await log.put(address, commit(2), expiresAt)).toEqual({ kind: 'occupied', nonce: mine.nonce });
  expect(await log.commitsAfter(address, firstCommit)).toEqual([mine]);
});

test('only a head that holds commit 2 takes the end with it', async () => {
  const other = creation(freshRun());
  const log = aProcess();
  await log.create(other);
  await expect(log.put(other.address, commit(2), expiresAt, end)).rejects.toThrow('does not hold commit 2');
  await expect(log.put(run.address, commit(3), expiresAt, { ...end, asOf: commitNo(3) })).rejects.toThrow(
    'does not hold commit 3',
  );
});

test('a read does not use a request for the head that began before the commit', async () => {
  const log = aProcess();
  const sending = client.send.bind(client);
  const release = Promise.withResolvers<void>();
  let reads = 0;
  Object.assign(client, {
    send: (...given: Parameters<typeof sending>) => {
      const response = Promise.resolve(sending(...given));
      // The first response is on its way for a long time.
      if (!(given[0] instanceof GetItemCommand) || (reads += 1) > 1) return response;
      return response.then((read) => release.promise.then(() => read));
    },
  });
  try {
    const early = log.commitsAfter(run.address, firstCommit);
    await vi.waitFor(() => expect(reads).toBe(1));
    await aProcess().put(run.address, commit(2), expiresAt);
    expect(numbersOf(await log.commitsAfter(run.address, firstCommit))).toEqual([2]);
    release.resolve();
    // Its request may have been answered before the commit or after it.
    expect(numbersOf(await early).length).toBeLessThanOrEqual(1);
  } finally {
    Object.assign(client, { send: sending });
  }
});

test('the head and the log of an unknown run are one read of the head', async () => {
  const log = aProcess();
  await aProcess().put(run.address, commit(2), expiresAt);
  const sent: unknown[] = [];
  const spy = vi.spyOn(client, 'send');
  try {
    const [head, commits] = await Promise.all([log.head(run.address), log.commitsAfter(run.address, firstCommit)]);
    expect(head).toMatchObject({ holdsSecondCommit: true });
    expect(numbersOf(commits)).toEqual([2]);
    sent.push(...spy.mock.calls.map(([command]) => command));
  } finally {
    spy.mockRestore();
  }
  expect(sent.filter((command) => command instanceof GetItemCommand)).toHaveLength(1);
  expect(sent.some((command) => command instanceof UpdateItemCommand)).toBe(false);
});
