/** Runs that wait longer than the default deadline, in the embedded cloud: each function has only the permissions of its role. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import { partitionOf } from '../../lib/contract/record-kinds.ts';
import { shiftClock } from '../../lib/local/clock/shifted-clock.ts';
import { createDynamodbCaller } from '../../lib/local/emulators/forward.ts';
import { deploy, ended, node, project, start, stepsIn, waits, when } from './code-projects.ts';
import { type InProcessCloud, startInProcessCloud } from './in-process-cloud.ts';

const minute = 60_000;
const day = 1_440 * minute;

let offsetMs = 0;
const clock = shiftClock(offsetMs);
let cloud: InProcessCloud;
/** the statuses of puts and copies of objects */
let written: number[] = [];

beforeAll(async () => {
  cloud = await startInProcessCloud();
  cloud.cloud.recorder.listen(({ service, operation, status }) => {
    if (service === 's3' && operation === 'PutObject') written.push(status);
  });
});
// Reports each request that a role did not permit.
afterAll(() => cloud.stop());

const tableOf = (name: string): string => {
  const found = cloud.cloud.template.of('AWS::DynamoDB::Table').find(({ logicalId }) => logicalId.includes(name));
  if (found === undefined) throw new Error(`the template has no table ${name}`);
  return found.name;
};
const dynamodb = (operation: string, input: object) =>
  createDynamodbCaller(cloud.cloud.emulators.dynamodb.forward)(operation, input);

/** @param sweptAheadMs the sweep checks no run for so long */
async function advance(ms: number, sweptAheadMs = -2 * minute): Promise<void> {
  // The sweep would check each of the minutes in between.
  const swept = await dynamodb('UpdateItem', {
    TableName: tableOf('ControlTable'),
    Key: { pk: { S: partitionOf('sweep') }, sk: { S: 'minute' } },
    UpdateExpression: 'SET swept = :minute',
    ExpressionAttributeValues: { ':minute': { N: String(Math.floor((Date.now() + ms + sweptAheadMs) / minute)) } },
  });
  expect(swept.status).toBe(200);
  offsetMs += ms;
  clock.setOffset(offsetMs);
  cloud.cloud.onClockAdvance();
}

const query = z.looseObject({
  Items: z.array(z.looseObject({ sk: z.object({ S: z.string() }), ttl: z.object({ N: z.string() }) })),
});

/** When each item of the run expires, as days after now, by the sort key. */
async function expiriesOf(runId: string): Promise<ReadonlyMap<string, number>> {
  const found = new Map<string, number>();
  for (const kind of ['run', 'code'] as const) {
    const answer = await dynamodb('Query', {
      TableName: tableOf('RunsTable'),
      KeyConditionExpression: 'pk = :pk',
      ExpressionAttributeValues: { ':pk': { S: partitionOf(kind, 'default', 'local', runId) } },
    });
    for (const { sk, ttl } of query.parse(answer.output).Items)
      found.set(`${kind} ${sk.S}`, (Number(ttl.N) * 1_000 - Date.now()) / day);
  }
  return found;
}

const graph = {
  name: 'long-graph',
  options: { maxConcurrentRuns: 1 },
  nodes: [
    { id: 'start', type: 'start' },
    { id: 'big', type: 'javascript', config: { code: 'return "x".repeat(100000)', outputVariable: 'big' } },
    { id: 'nap', type: 'delay', config: { delayMinutes: 8 * 1_440 } },
    { id: 'wait', type: 'signal', config: { name: 'go' } },
    { id: 'size', type: 'javascript', config: { code: 'return ctx.big.length', outputVariable: 'size' } },
    { id: 'end', type: 'end', config: { outputParameters: [{ name: 'size', sourceVariable: '{{ctx.size}}' }] } },
  ],
  edges: [
    { source: 'start', target: 'big' },
    { source: 'big', target: 'nap' },
    { source: 'nap', target: 'wait' },
    { source: 'wait', target: 'size' },
    { source: 'size', target: 'end' },
  ],
};

const code = `export const longCode = defineWorkflow({ name: 'long-code' }, async ({ step }) => {
  const big = await step.run({ name: 'big' }, async () => 'x'.repeat(100000));
  await step.sleep('nap', '8 days');
  await step.waitForSignal({ name: 'wait', signal: 'go', correlation: 'long-code' });
  return { size: big.length };
});`;

test('a graph run and a code run outlive seven days, and all that they stored expires with their new deadline', async () => {
  expect((await cloud.call('POST', '/v1/workflows', graph)).status).toBe(201);
  await deploy(cloud, project(code));
  const runs = [await start(cloud, 'long-graph'), await start(cloud, 'long-code')];
  for (const runId of runs) {
    await when(cloud, runId, waits('nap'));
    expect(Math.max(...(await expiriesOf(runId)).values())).toBeLessThan(38.5);
  }
  await advance(8 * day + minute);
  for (const runId of runs) {
    await when(cloud, runId, waits('wait'));
    const { body } = await cloud.call('GET', `/v1/runs/${runId}/events`);
    expect(JSON.stringify(body)).toContain('deadline.extended');
  }
  written = [];
  await advance(16 * minute);
  // The deadline is 15 days after the start: 7 more days, one for the end, and 30 days of retention remain.
  for (const runId of runs) {
    await expect
      .poll(async () => Math.min(...(await expiriesOf(runId)).values()), { timeout: 60_000, interval: 200 })
      .toBeGreaterThan(36);
  }
  // The output of the step `big` of each run is copied onto itself.
  expect(written).toEqual([200, 200]);
  expect((await cloud.call('POST', `/v1/runs/${runs[0]}/signals`, { name: 'go' })).status).toBe(202);
  expect((await cloud.call('POST', '/v1/signals', { name: 'go', correlation: 'long-code' })).status).toBe(202);
  for (const runId of runs) expect(await ended(cloud, runId)).toMatchObject({ status: 'completed', output: { size: 100_000 } });
});

const overtime = `export const overtime = defineWorkflow({ name: 'overtime' }, async ({ step }) => {
  await step.sleep('nap', 7 * 86_400_000 - 600_000);
  await step.run({ name: 'work' }, () => new Promise((resolve) => setTimeout(() => resolve('done'), 3_000)));
  await step.waitForSignal({ name: 'wait', signal: 'go', correlation: 'overtime' });
});`;

test('a code run is extended while its step works and no sweep checks it', async () => {
  await deploy(cloud, project(overtime));
  const runId = await start(cloud, 'overtime');
  await when(cloud, runId, waits('nap'));
  await advance(7 * day - 10 * minute);
  await when(cloud, runId, (run) => node(run, 'work')?.status === 'running');
  // The sweep is ahead, so a function that handles a message of the run sees the deadline pass.
  await advance(12 * minute, 60 * minute);
  await when(cloud, runId, waits('wait'));
  const extensions = await stepsIn(cloud, runId, 'deadline.extended');
  expect(extensions).toHaveLength(1);
  await advance(16 * minute);
  await expect
    .poll(async () => Math.min(...(await expiriesOf(runId)).values()), { timeout: 60_000, interval: 200 })
    .toBeGreaterThan(36);
  expect((await cloud.call('POST', '/v1/signals', { name: 'go', correlation: 'overtime' })).status).toBe(202);
  expect(await ended(cloud, runId)).toMatchObject({ status: 'completed' });
});
