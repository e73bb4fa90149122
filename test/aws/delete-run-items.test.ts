/** Forgetting is many requests to DynamoDB: broken off at any of them, readers find a sound log, and the next to ask finishes it. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoRunLog } from '../../lib/aws/run-log.ts';
import { firstCommit, nodeKey } from '../../lib/engine/ids.ts';
import { isTombstone } from '../../lib/engine/log/tombstone.ts';
import type { Commit } from '../../lib/engine/log/commit.ts';
import { eventId } from '../../lib/engine/ids.ts';
import { readRunFold } from '../../lib/service/run-log/read-run-fold.ts';
import { createRunsTable, dynamoAt, dynamoImplementations } from '../contract/emulators/dynamo.ts';
import type { Emulator } from '../contract/emulators/emulator-process.ts';
import { commit, creation, expiresAt, bundleNode, freshRun, noon } from '../contract/samples.ts';

const [implementation] = dynamoImplementations;
if (implementation === undefined) throw new Error('there is no DynamoDB at hand');
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

test('broken off at any request', async () => {
  const table = await createRunsTable(client);
  const log = new DynamoRunLog(table);
  const sending = client.send.bind(client);
  for (let fatal = 1, isWhole = false; !isWhole; fatal += 1) {
    const run = creation(freshRun(), { isTest: true, commit: dense(1) });
    const { address } = run;
    await log.create(run);
    for (const number of [2, 3, 4]) await log.put(address, dense(number), expiresAt);
    await log.attach(address, 'graph', {}, { expiresAt, kind: 'graph' });
    await log.heartbeat(address, { node: nodeKey(bundleNode), at: noon, resends: 0 }, expiresAt);

    let sent = 0;
    Object.assign(client, {
      send: (...given: Parameters<typeof sending>) => {
        sent += 1;
        return sent === fatal ? Promise.reject(new Error('killed here')) : sending(...given);
      },
    });
    isWhole = await log.deleteRun(address, expiresAt).then(
      () => true,
      () => false,
    );
    Object.assign(client, { send: sending });

    if (!isWhole) {
      const left = await readRunFold({ log }, address);
      expect(left?.state.progress.status).toMatch(/pending|cancelled/);
      // The first forgotten slot is followed by none that is not.
      const commits = await log.commitsAfter(address, firstCommit);
      expect(commits.slice(commits.findIndex(isTombstone)).every(isTombstone) || !commits.some(isTombstone)).toBe(true);
    }
    await log.deleteRun(address, expiresAt);
    expect(await log.head(address)).toBeUndefined();
    expect(await log.attached(address, 'graph')).toBeUndefined();
    expect(await log.heartbeats(address)).toEqual([]);
    expect((await log.commitsAfter(address, firstCommit)).every(isTombstone)).toBe(true);
    if (isWhole) expect(fatal).toBeGreaterThan(6);
  }
});
