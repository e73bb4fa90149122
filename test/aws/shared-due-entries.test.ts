/** The item of a due entry of several runs. */
import { expect, test } from 'vitest';
import * as z from 'zod';
import { itemBytes, wireItem } from '../../bench/item-size.ts';
import { DynamoRunIndex } from '../../lib/aws/run-index.ts';
import { DynamoRunLog } from '../../lib/aws/run-log.ts';
import { Table } from '../../lib/aws/table.ts';
import { type RunId, environment, projectId } from '../../lib/engine/ids.ts';
import { maxSharedDueRuns } from '../../lib/ports/run-index.ts';
import { dynamoAt } from '../contract/emulators/dynamo.ts';
import { startRecorder } from '../contract/emulators/recorder.ts';
import { freshRun } from '../contract/samples.ts';

const scope = { projectId: projectId('p'.repeat(64)), environment: environment('e'.repeat(32)) };
const minute = 29_000_000;
const put = z.object({ Item: wireItem });

async function itemOf(runIds: readonly RunId[]) {
  const recorder = await startRecorder(() => ({ status: 200, body: {} }));
  const client = dynamoAt(recorder.endpoint);
  const runs = new Table(client, 'runs');
  await new DynamoRunIndex({ runs, control: new Table(client, 'control') }, new DynamoRunLog(runs)).markDueTogether({
    scope,
    runIds,
    minute,
  });
  const [request] = recorder.requests;
  await recorder.close();
  return put.parse(JSON.parse(request?.body ?? '')).Item;
}

const runIds = Array.from({ length: maxSharedDueRuns }, () => freshRun().runId);

test('as many runs as an entry can have take one write unit, with the longest names of a scope too', async () => {
  const item = await itemOf(runIds);
  expect(item['runs']).toEqual({ S: runIds.map((runId) => runId.slice('wrun_'.length)).join(' ') });
  expect(itemBytes(item)).toBeLessThanOrEqual(1_024);
});

test('the same runs have the same key in a minute, in any order, and other runs another one', async () => {
  const key = async (ids: readonly RunId[]) => (await itemOf(ids))['sk'];
  expect(await key(runIds.toReversed())).toEqual(await key(runIds));
  expect(await key(runIds.slice(1))).not.toEqual(await key(runIds));
});
