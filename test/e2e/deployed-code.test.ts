/** Bundle runs in the embedded cloud: through the API, the queues and the function, as in AWS. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { bundlePaths } from '../../lib/ports/bundles.ts';
import { packedDeployment } from '../artifact/packed.ts';
import { type InProcessCloud, startInProcessCloud } from './in-process-cloud.ts';

let cloud: InProcessCloud;
beforeAll(async () => {
  cloud = await startInProcessCloud();
});
afterAll(() => cloud.stop());

/** Waits until it is resumed, then returns its version and the resume data. */
const waiting = (version: string): string => `
export async function POST(request) {
  const { runId, input } = await request.json();
  const reason = request.headers.get('x-workflow-resume-reason');
  if (input.fails) process.exit(3);
  if (input.asks && request.headers.get('x-vqs-message-attempt') === '1' && reason === null && !globalThis.asked) {
    globalThis.asked = true;
    return Response.json({ timeoutSeconds: 1 }, { status: 503 });
  }
  if (reason === null && !input.asks) return Response.json({ ok: true });
  const payload = JSON.parse(request.headers.get('x-workflow-resume-payload') ?? 'null');
  return Response.json({ run: { status: 'completed', output: { version: '${version}', runId, reason, payload } } });
}
`;

async function ship(id: string): Promise<void> {
  const files = { [bundlePaths.workflow]: waiting(id) };
  const { manifest, archive } = await packedDeployment(id, { workflows: ['wait-for-it'], files });
  const form = new FormData();
  form.append('manifest', JSON.stringify(manifest));
  form.append('artifact', new Blob([Buffer.from(archive)]), 'artifact.tgz');
  const headers = { authorization: `Bearer ${cloud.apiKey}` };
  const answer = await fetch(`${cloud.url}/v1/deployments`, { method: 'POST', headers, body: form });
  expect(answer.status, await answer.text()).toBe(201);
  expect((await cloud.call('POST', `/v1/deployments/${id}/activate`)).status).toBe(200);
}

let starts = 0;
async function start(input: object = {}): Promise<string> {
  const key = { 'idempotency-key': `start-${(starts += 1)}` };
  const { status, body } = await cloud.call('POST', '/v1/runs', { workflowName: 'wait-for-it', input }, key);
  expect(status, JSON.stringify(body)).toBe(202);
  return z.looseObject({ runId: z.string() }).parse(body).runId;
}

const runShape = z.looseObject({
  status: z.string(),
  deploymentId: z.string(),
  workflowVersion: z.null(),
  output: z.unknown().optional(),
  nodes: z.array(z.looseObject({ type: z.string(), status: z.string(), attempt: z.int() })),
});
const run = async (id: string) => runShape.parse((await cloud.call('GET', `/v1/runs/${id}`)).body);

/** Polls until the condition holds, or the test times out. */
async function when(id: string, holds: (found: z.output<typeof runShape>) => boolean): Promise<z.output<typeof runShape>> {
  for (;;) {
    const found = await run(id);
    if (holds(found)) return found;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
const ended = ({ status }: { status: string }): boolean => status !== 'pending' && status !== 'running';
const heard = ({ nodes }: { nodes: readonly { status: string }[] }): boolean =>
  nodes.every(({ status }) => status === 'completed');

describe('a run of a deployment', { timeout: 60_000 }, () => {
  test('stays on it while another is activated, gets its resume reason, and a new run uses the other', async () => {
    await ship('one');
    const first = await start();
    await when(first, heard);
    await ship('two');
    const resumption = { runId: first, reason: 'paid', payload: { amount: 3, sign: '€' } };
    expect((await cloud.call('POST', '/v1/runs/resume', resumption)).status).toBe(202);
    expect(await when(first, ended)).toMatchObject({
      status: 'completed',
      deploymentId: 'one',
      output: { version: 'one', runId: first, reason: 'paid', payload: { amount: 3, sign: '€' } },
    });

    const second = await start();
    await when(second, heard);
    expect((await cloud.call('POST', '/v1/deployments/rollback')).status).toBe(200);
    const third = await start();
    await when(third, heard);
    for (const runId of [second, third]) await cloud.call('POST', '/v1/runs/resume', { runId, reason: 'go on' });
    expect(await when(second, ended)).toMatchObject({ deploymentId: 'two', output: { version: 'two' } });
    expect(await when(third, ended)).toMatchObject({ deploymentId: 'one', output: { version: 'one' } });
  });

  test('is invoked again on request, by a new message', async () => {
    const id = await start({ asks: true });
    const { status, nodes } = await when(id, ended);
    expect([status, nodes.map(({ attempt }) => attempt)]).toEqual(['completed', [1, 1]]);
  });

  test('whose code exits is retried, and the function continues', async () => {
    const id = await start({ fails: true });
    const { nodes } = await when(id, (found) => found.nodes.some(({ attempt }) => attempt > 1));
    expect(nodes).toHaveLength(1);
    expect((await cloud.call('POST', `/v1/runs/${id}/cancel`)).status).toBe(200);
    const other = await start();
    await when(other, heard);
    await cloud.call('POST', `/v1/runs/${other}/cancel`);
  });

  test('gets each event of its key once, and only from its own lane', async () => {
    const id = await start();
    await when(id, heard);
    const body = { queueName: '__wkf_workflow_wait-for-it', message: { runId: id, input: {} }, opts: { idempotencyKey: 'k' } };
    const answers = [await cloud.call('POST', '/v1/queue/publish', body), await cloud.call('POST', '/v1/queue/publish', body)];
    expect(answers[0]?.body).toEqual(answers[1]?.body);
    const { nodes } = await when(id, (found) => found.nodes.length === 2 && heard(found));
    expect(nodes).toHaveLength(2);
    expect((await cloud.call('GET', '/v1/world/deployment-id')).body).toEqual({ deploymentId: 'one' });
    await cloud.call('POST', `/v1/runs/${id}/cancel`);
  });
});
