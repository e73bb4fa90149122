/** Deleting a run takes many requests. After an interruption at any of them the log is valid, and a second call completes the deletion. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoRunLog } from '../../lib/aws/run-log.ts';
import { firstCommit, nodeKey } from '../../lib/engine/ids.ts';
import { type Commit, isTombstone } from '../../lib/engine/log/commit.ts';
import { eventId } from '../../lib/engine/ids.ts';
import { readRunFold } from '../../lib/service/run-log/read-run-fold.ts';
import { createRunsTable, dynamoAt, dynamoImplementations } from '../contract/emulators/dynamo.ts';
import type { Emulator } from '../contract/emulators/emulator-process.ts';
import { commit, creation, expiresAt, bundleNode, freshRun, noon } from '../contract/samples.ts';

const [implementation] = dynamoImplementations;
if (implementation === undefined) throw new Error('no DynamoDB emulator is available');
let emulator: Emulator;
let client: DynamoDBClient;
beforeAll(async () => {
  emulator = await implementation.start();
  client = dynamoAt(emulator.endpoint);
});
afterAll(async () => {
  client.destroy();
  await emulator.close();
});

/** Commit n has the one event n. */
const dense = (number: number): Commit => commit(number, { firstEventId: eventId(number) });

test.each([
  ['a test run', { isTest: true }],
  ['a run whose head holds commit 2', { holdsSecondCommit: true }],
] as const)('a deletion of %s that is interrupted at any request leaves a valid log and can be completed', async (_of, facts) => {
  const table = await createRunsTable(client);
  const log = new DynamoRunLog(table);
  const sending = client.send.bind(client);
  for (let failAt = 1, isComplete = false; !isComplete; failAt += 1) {
    const run = creation(freshRun(), { ...facts, commit: dense(1) });
    const { address } = run;
    await log.create(run);
    for (const number of [2, 3, 4]) await log.put(address, dense(number), expiresAt);
    await log.attach(address, 'graph', {}, { expiresAt, kind: 'graph' });
    await log.heartbeat(address, { node: nodeKey(bundleNode), at: noon, resends: 0 }, expiresAt);

    let sent = 0;
    Object.assign(client, {
      send: (...given: Parameters<typeof sending>) => {
        sent += 1;
        return sent === failAt ? Promise.reject(new Error('killed here')) : sending(...given);
      },
    });
    isComplete = await log.deleteRun(address, expiresAt).then(
      () => true,
      () => false,
    );
    Object.assign(client, { send: sending });

    if (!isComplete) {
      const left = await readRunFold({ log }, address);
      expect(left?.state.progress.status).toMatch(/pending|cancelled/);
      // After the first tombstone there are only tombstones.
      const commits = await log.commitsAfter(address, firstCommit);
      expect(commits.slice(commits.findIndex(isTombstone)).every(isTombstone) || !commits.some(isTombstone)).toBe(true);
    }
    await log.deleteRun(address, expiresAt);
    expect(await log.head(address)).toBeUndefined();
    expect(await log.attached(address, 'graph')).toBeUndefined();
    expect(await log.heartbeats(address)).toEqual([]);
    expect((await log.commitsAfter(address, firstCommit)).every(isTombstone)).toBe(true);
    if (isComplete) expect(failAt).toBeGreaterThan(6);
  }
});
