/** `POST /v1/runs?wait=` in the embedded cloud: the API function invokes the function of the first job, with the permission check. */
import { cpSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import type { RecordedCall } from '../../lib/local/recorder.ts';
import { deploy } from './code-projects.ts';
import { type InProcessCloud, startInProcessCloud } from './in-process-cloud.ts';
import { freshFolder, root } from './local-start.ts';

let cloud: InProcessCloud;
const calls: RecordedCall[] = [];
beforeAll(async () => {
  cloud = await startInProcessCloud();
  cloud.cloud.recorder.listen((call) => void calls.push(call));
});
afterAll(() => cloud.stop());

const chain = (code: string) => ({
  nodes: [
    { id: 'start', type: 'start' },
    ...[1, 2, 3].map((at) => ({
      id: `n${at}`,
      type: 'javascript',
      config: { code, idempotent: true, outputVariable: `n${at}` },
    })),
    { id: 'end', type: 'end', config: { outputParameters: [{ name: 'last', sourceVariable: '{{ctx.n3}}' }] } },
  ],
  edges: [
    ['start', 'n1'],
    ['n1', 'n2'],
    ['n2', 'n3'],
    ['n3', 'end'],
  ].map(([source, target]) => ({ source, target })),
});

let starts = 0;
const start = (workflowName: string, wait: number, input: unknown = {}, key = `start-${(starts += 1)}`, at = cloud) =>
  at.call('POST', `/v1/runs?wait=${wait}`, { workflowName, input }, { 'idempotency-key': key });

const publish = async (name: string, graph: object, at = cloud): Promise<void> => {
  const { status, body } = await at.call('POST', '/v1/workflows', { name, ...graph });
  expect(status, JSON.stringify(body)).toBe(201);
};

/** The calls that the work makes, without the polls of idle queues. */
async function callsOf(work: () => Promise<unknown>): Promise<readonly string[]> {
  const from = calls.length;
  await work();
  return calls
    .slice(from)
    .filter(({ operation }) => operation !== 'ReceiveMessage')
    .map(({ service, operation }) => `${service}.${operation}`);
}

describe('a start that waits', { timeout: 60_000 }, () => {
  test('is answered with the output of a chain of scripts; no message is sent', async () => {
    await publish('chain', chain('return 7;'));
    await start('chain', 20);
    const seen = await callsOf(async () => {
      expect(await start('chain', 20)).toMatchObject({ status: 200, body: { status: 'completed' } });
    });
    expect(seen.filter((call) => call.startsWith('sqs.'))).toEqual([]);
    expect(seen).toContain('lambda.Invoke');
  });

  test('is answered with the failure of a script', async () => {
    await publish('fails', chain("throw new Error('no stock');"));
    const answer = await start('fails', 20);
    expect(answer).toMatchObject({ status: 200, body: { status: 'failed' } });
    expect(JSON.stringify(answer.body)).toContain('no stock');
  });

  test('is answered at once with a run that waits for a signal', async () => {
    await publish('waits', {
      nodes: [
        { id: 'start', type: 'start' },
        { id: 'paid', type: 'signal', config: { name: 'paid', correlation: 'o1' } },
        { id: 'end', type: 'end' },
      ],
      edges: [
        { source: 'start', target: 'paid' },
        { source: 'paid', target: 'end' },
      ],
    });
    expect(await start('waits', 25, {}, 'waits')).toMatchObject({
      status: 202,
      body: { status: expect.stringMatching(/pending|running/) },
    });
    expect(await cloud.call('POST', '/v1/signals', { name: 'paid', correlation: 'o1' })).toMatchObject({ status: 202 });
    const again = await start('waits', 25, {}, 'waits');
    expect(again).toMatchObject({ status: 200, body: { status: 'completed' } });
    expect(again.headers.get('idempotency-replayed')).toBe('true');
  });

  test('is answered with 202 when its time is over, and the run completes', async () => {
    await publish('slow', chain('const until = Date.now() + 900; while (Date.now() < until); return 1;'));
    const answer = await start('slow', 1, {}, 'slow');
    expect(answer).toMatchObject({ status: 202, body: { status: 'running' } });
    expect(await start('slow', 25, {}, 'slow')).toMatchObject({ status: 200, body: { status: 'completed' } });
  });

  test('is answered with the output of deployed code', async () => {
    await deploy(cloud, join(root, 'examples/code-workflows'));
    const input = { items: [{ price: 1, quantity: 2 }], discount: 0 };
    const seen = await callsOf(async () => {
      const answer = await start('fulfil-order', 25, input);
      expect(answer, JSON.stringify(answer.body)).toMatchObject({ status: 200, body: { status: 'completed' } });
    });
    expect(seen.filter((call) => call === 'lambda.Invoke')).toHaveLength(1);
  });
});

const invoking = z.looseObject({ Action: z.literal('lambda:InvokeFunction'), Resource: z.unknown() });

/** The assembly in which no role may invoke the worker. */
async function withoutInvoking(assembly: string): Promise<string> {
  const folder = join(freshFolder(), 'assembly');
  cpSync(assembly, folder, { recursive: true, dereference: true });
  let removed = 0;
  for (const file of globSync('*.template.json', { cwd: folder })) {
    const template: unknown = JSON.parse(readFileSync(join(folder, file), 'utf8'), (_key, value: unknown) => {
      const statement = invoking.safeParse(value).data;
      if (statement === undefined || !JSON.stringify(statement.Resource).includes('FunctionsWorkerFunction')) return value;
      removed += 1;
      return { ...statement, Action: 'lambda:GetFunction' };
    });
    writeFileSync(join(folder, file), JSON.stringify(template));
  }
  expect(removed).toBe(1);
  return folder;
}

test('without the permission the call is denied, and the run is answered through its queue', { timeout: 60_000 }, async () => {
  const denying = await startInProcessCloud(undefined, withoutInvoking);
  await publish('chain', chain('return 7;'), denying);
  expect(await start('chain', 20, {}, 'denied', denying)).toMatchObject({ status: 200, body: { status: 'completed' } });
  await expect(denying.stop()).rejects.toThrow(/AccessDenied.*lambda:InvokeFunction/);
});
