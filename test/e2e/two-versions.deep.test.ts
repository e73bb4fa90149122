/** A deployment of the platform during runs: an older and a newer version of the handlers execute one code run. */
import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { foldSchema } from '../../lib/engine/log/fold.ts';
import { type InProcessCloud, startInProcessCloud } from './in-process-cloud.ts';
import { freshFolder, root } from './local-start.ts';
import { TwoVersions } from './two-versions.ts';

const code = `
import { defineWorkflow } from 'stepwell/sdk';
export const rounds = defineWorkflow({ name: 'rounds' }, async ({ input, step }) => {
  const keys = [];
  for (let round = 0; round < input.rounds; round += 1) {
    keys.push(await step.run({ name: 'again' }, ({ key }) => key));
    await step.sleep('nap', 1);
  }
  return keys;
});
export const paused = defineWorkflow({ name: 'paused' }, async ({ input, step }) => {
  const keys = [await step.run({ name: input.first }, ({ key }) => key)];
  for (const name of ['go on', 'go on']) {
    await step.waitForSignal({ signal: name });
    keys.push(await step.run({ name: input.first }, ({ key }) => key));
  }
  return keys;
});
`;

const versions = new TwoVersions();
let cloud: InProcessCloud;
/** by run: the schemas of the stored folds in order, the commits after its head, the message of its last workflow task */
const schemas = new Map<string, string[]>();
const commits = new Map<string, number>();
/** by run: how often the worker has registered a wait of the run for signals */
const entered = new Map<string, number>();
const workflowTasks = new Map<string, string>();
const text = z.looseObject({ S: z.string() });
const putItem = z.looseObject({
  Item: z.looseObject({ pk: text, sk: text, s: z.looseObject({ N: z.string().optional() }).optional() }),
});
const sent = z.looseObject({ MessageBody: z.string() });
beforeAll(async () => {
  cloud = await startInProcessCloud(undefined, (assembly) => versions.both(assembly));
  cloud.cloud.recorder.listen(({ operation, input, status }) => {
    const put = operation === 'PutItem' && status === 200 ? putItem.safeParse(input).data?.Item : undefined;
    const id = put?.pk.S.split('#').at(-1) ?? '';
    if (put?.sk.S === 'snapshot') schemas.set(id, [...(schemas.get(id) ?? []), put.s?.N ?? 'none']);
    const [, waiter] = /^waiter#(\w+)#/.exec(put?.sk.S ?? '') ?? [];
    if (waiter !== undefined) entered.set(waiter, (entered.get(waiter) ?? 0) + 1);
    if (put?.sk.S.startsWith('log#') === true) commits.set(id, (commits.get(id) ?? 0) + 1);
    const { MessageBody: body = '' } = sent.safeParse(input).data ?? {};
    const run = body.includes('"kind":"workflow_task"') ? /"runId":"(\w+)"/.exec(body)?.[1] : undefined;
    if (run !== undefined) workflowTasks.set(run, body);
  });
  const folder = freshFolder();
  mkdirSync(join(folder, 'workflows'));
  writeFileSync(join(folder, 'stepwell.config.json'), '{}');
  writeFileSync(join(folder, 'workflows/all.ts'), code);
  const env = { ...process.env, HOME: freshFolder(), STEPWELL_URL: cloud.url, STEPWELL_API_KEY: cloud.apiKey };
  await promisify(execFile)(process.execPath, [join(root, 'bin/stepwell-cli.mjs'), 'deploy'], { cwd: folder, env });
});
afterAll(() => cloud.stop());

let starts = 0;
async function start(workflowName: string, input: object): Promise<string> {
  const key = { 'idempotency-key': `start-${(starts += 1)}` };
  const { status, body } = await cloud.call('POST', '/v1/runs', { workflowName, input }, key);
  expect(status, JSON.stringify(body)).toBe(202);
  return z.looseObject({ runId: z.string() }).parse(body).runId;
}
const runShape = z.looseObject({
  status: z.string(),
  output: z.unknown().optional(),
  nodes: z.array(
    z.looseObject({
      nodeId: z.string(),
      status: z.string(),
      attempt: z.int(),
      error: z.looseObject({ code: z.string().optional(), message: z.string() }).optional(),
    }),
  ),
});
type Run = z.output<typeof runShape>;
/** Polls until the condition holds, or the test times out. */
async function when(id: string, holds: (run: Run) => boolean): Promise<Run> {
  for (;;) {
    const run = runShape.parse((await cloud.call('GET', `/v1/runs/${id}`)).body);
    if (holds(run)) return run;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
const ended = ({ status }: Run): boolean => status !== 'pending' && status !== 'running';
const waits = ({ nodes }: Run): boolean => nodes.some(({ status }) => status === 'waiting');
const goOn = async (id: string): Promise<number> =>
  (await cloud.call('POST', `/v1/runs/${id}/signals`, { name: 'go on' })).status;
const keysWith = (sign: string, name: string, count: number): readonly string[] =>
  Array.from({ length: count }, (_, at) => (at === 0 ? name : `${name}${sign}${at}`));

const eventsShape = z.looseObject({
  data: z.array(z.looseObject({ type: z.string(), payload: z.looseObject({ nodeId: z.string().optional() }) })),
});

describe('an older and a newer version of the handlers on one run', { timeout: 180_000 }, () => {
  test('complete it in alternation, with its original replay version, and read no fold of the other version', async () => {
    versions.serve('older');
    const id = await start('rounds', { rounds: 30 });
    versions.serve('turns');
    expect(await when(id, ended)).toMatchObject({ status: 'completed', output: keysWith(':', 'again', 30) });
    const drivenBy = versions.servedBy('code');
    for (const version of ['older', 'newer']) expect(drivenBy.filter((each) => each === version).length).toBeGreaterThan(10);
    expect(new Set(schemas.get(id))).toEqual(new Set([foldSchema, foldSchema + 1].map(String)));
    const { data } = eventsShape.parse((await cloud.call('GET', `/v1/runs/${id}/events?limit=1000`)).body);
    const completed = data.flatMap(({ type, payload }) => (type === 'node.completed' ? [payload.nodeId] : []));
    const steps = completed.filter((node) => node?.startsWith('again') === true);
    expect([steps.length, new Set(steps).size]).toEqual([30, 30]);
  });

  test('where the newer version started it, the older defers it without failures, and the newer continues', async () => {
    versions.serve('newer');
    const id = await start('paused', { first: 'one' });
    await when(id, waits);
    versions.serve('older');
    expect(await goOn(id)).toBe(202);
    const isPutOff = ({ nodeId, attempt }: Run['nodes'][number]): boolean => nodeId === '.workflow-task.2' && attempt > 1;
    const put = await when(id, ({ nodes }) => nodes.some(isPutOff));
    expect(put.status).toBe('running');
    const { body } = await cloud.call('GET', `/v1/runs/${id}/events?limit=1000`);
    expect(JSON.stringify(body)).toContain('this run needs replay version 2; this worker supports up to 1');
    versions.serve('newer');
    await when(id, waits);
    expect(await goOn(id)).toBe(202);
    expect(await when(id, ended)).toMatchObject({ status: 'completed', output: keysWith('#', 'one', 3) });
  });

  test('where the newer version wrote an unreadable commit, the older refuses it, writes nothing, and the newer continues', async () => {
    versions.serve('older');
    const id = await start('paused', { first: 'moody' });
    await when(id, waits);
    versions.serve('newer');
    expect(await goOn(id)).toBe(202);
    const isDone = ({ nodes }: Run): boolean =>
      nodes.filter(({ nodeId, status }) => nodeId.startsWith('moody') && status === 'completed').length === 2;
    await when(id, (run) => isDone(run) && waits(run));
    const written = 5;
    await expect.poll(() => commits.get(id)).toBe(written);
    await expect.poll(() => entered.get(id)).toBe(2);

    versions.serve('older');
    expect(await goOn(id)).toBe(500);
    expect((await cloud.call('GET', `/v1/runs/${id}`)).status).toBe(500);
    const handler = [...cloud.cloud.functions.values()].find(({ name }) => name.includes('FunctionsCodeFunction'));
    const outcome = await handler?.invoke(redelivered(workflowTasks.get(id) ?? ''));
    expect(outcome).toEqual({ kind: 'returned', payload: '{"batchItemFailures":[{"itemIdentifier":"once-more"}]}' });
    expect(commits.get(id)).toBe(written);

    versions.serve('newer');
    expect(await goOn(id)).toBe(202);
    expect(await when(id, ended)).toMatchObject({ status: 'completed', output: keysWith(':', 'moody', 3) });
  });
});

/** A redelivered message of the code queue. */
function redelivered(body: string): string {
  const attributes = { ApproximateReceiveCount: '2', MessageGroupId: 'g', SentTimestamp: '1' };
  const record = { messageId: 'once-more', receiptHandle: 'r', body, attributes, messageAttributes: {}, eventSource: 'aws:sqs' };
  return JSON.stringify({ Records: [record] });
}
