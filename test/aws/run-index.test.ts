/** Reads from an index that is behind its table. Emulators do not have this delay. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { runPartition } from '../../lib/aws/run-keys.ts';
import { DynamoRunIndex } from '../../lib/aws/run-index.ts';
import { Table } from '../../lib/aws/table.ts';
import { type RunAddress, commitNo } from '../../lib/engine/ids.ts';
import { iso } from '../../lib/engine/time.ts';
import { memoryPorts } from '../../lib/memory/memory-ports.ts';
import { dynamoAt } from '../contract/emulators/dynamo.ts';
import { type Recorder, startRecorder } from '../contract/emulators/recorder.ts';
import { creation, freshRun, freshScope, noon } from '../contract/samples.ts';

const { log } = memoryPorts();
const scope = freshScope();
/** The rows that the index still has. */
let rows: readonly RunAddress[] = [];
let recorder: Recorder;
let index: DynamoRunIndex;
beforeEach(async () => {
  recorder = await startRecorder(({ body }) => {
    const isFirstShard = /#0"/.test(body);
    const Items = isFirstShard ? rows.map((run) => ({ pk: { S: runPartition(run) }, ...sortKeys(run) })) : [];
    return { status: 200, body: { Items } };
  });
  const table = new Table(dynamoAt(recorder.endpoint), 'any');
  index = new DynamoRunIndex({ runs: table, control: table }, log);
});
afterEach(() => recorder.close());

const sortKeys = (run: RunAddress) => {
  const sort = { S: `${iso(noon)}#${run.runId}` };
  return { gs: sort, ss: sort };
};
const created = async (): Promise<RunAddress> => {
  const run = freshRun(scope);
  await log.create(creation(run));
  return run;
};

test('a run is not listed in a state that it has left', async () => {
  const [left, stayed] = [await created(), await created()];
  await log.project(left, { status: 'completed', asOf: commitNo(3) });
  await log.project(stayed, { status: 'running', asOf: commitNo(3), attention: 'waiting' });
  rows = [left, stayed];
  const { heads } = await index.listByState(scope, 'waiting', { limit: 5 });
  expect(heads.map(({ address }) => address)).toEqual([stayed]);
});

test('a deleted run makes a page shorter, and the next page continues after it', async () => {
  rows = [freshRun(scope), freshRun(scope), freshRun(scope)];
  const [newest, deleted, oldest] = rows.toSorted((one, other) => (one.runId < other.runId ? 1 : -1));
  for (const run of [newest, oldest]) if (run !== undefined) await log.create(creation(run));
  const page = await index.list(scope, { limit: 2 });
  expect(page.heads.map(({ address }) => address)).toEqual([newest]);
  expect(page.next).toEqual({ createdAt: noon, runId: deleted?.runId });
});
