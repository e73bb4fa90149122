import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { freshFolder, root, startLocal, type LocalStart } from './local-start.ts';
import { orderTotal } from './workflows.ts';

const directory = freshFolder();
const started = { workflowName: 'order-total', input: { items: [{ qty: 3, price: 50 }] } };
const startedShape = z.object({ runId: z.string(), status: z.string(), deploymentId: z.null() });
const runShape = z.looseObject({
  status: z.string(),
  output: z.unknown().optional(),
  nodes: z.array(
    z.looseObject({
      nodeId: z.string(),
      status: z.string(),
      attempt: z.number(),
      startedAt: z.string().optional(),
      completedAt: z.string().optional(),
    }),
  ),
});
const eventsShape = z.looseObject({ data: z.array(z.looseObject({ eventId: z.number(), type: z.string() })) });

let local: LocalStart;
let runId: string;

beforeAll(async () => {
  local = await startLocal(directory);
});
afterAll(async () => {
  expect(await local.end('SIGTERM')).toBe(0);
});

const start = (body: unknown, key?: string) =>
  local.call('POST', '/v1/runs', body, key === undefined ? {} : { 'idempotency-key': key });

describe('on a laptop, from an empty folder', () => {
  test('a worker finds it by a private file, without settings', async () => {
    expect(statSync(join(directory, 'worker.json')).mode & 0o077).toBe(0);
    const env = { ...process.env, HOME: freshFolder(), STEPWELL_DIR: directory };
    const program = [join(root, 'bin/stepwell-cli.mjs'), 'worker', 'start'];
    const worker = spawn(process.execPath, program, { cwd: freshFolder(), env, stdio: ['ignore', 'ignore', 'pipe'] });
    let told = '';
    worker.stderr.on('data', (chunk: Buffer) => (told += chunk.toString()));
    await expect.poll(() => told, { timeout: 30_000, interval: 50 }).toContain('taking messages for code');
    expect(told).toContain('receiving messages of the embedded cloud of this folder, up to 10 at once');
    const gone = once(worker, 'exit');
    worker.kill('SIGTERM');
    await gone;
    expect([worker.exitCode, told]).toEqual([0, expect.not.stringContaining('error')]);
  });

  test('a workflow is published', async () => {
    const answer = await local.call('POST', '/v1/workflows', orderTotal);
    expect([answer.status, answer.body]).toMatchObject([201, { name: 'order-total', version: 1 }]);
  });

  test('a run is started', async () => {
    const answer = await start(started, 'k1');
    expect([answer.status, answer.body]).toMatchObject([202, { status: 'pending', deploymentId: null }]);
    runId = startedShape.parse(answer.body).runId;
    expect(runId).toMatch(/^wrun_/);
  });

  test('it completes, with the result of every node', async () => {
    const see = async () => runShape.parse((await local.call('GET', `/v1/runs/${runId}`)).body);
    await expect.poll(async () => (await see()).status, { timeout: 60_000, interval: 100 }).toBe('completed');
    const { output, nodes } = await see();
    expect(output).toEqual({ due: 135 });
    expect(Object.fromEntries(nodes.map((node) => [node.nodeId, node.status]))).toEqual({
      start: 'completed',
      price: 'completed',
      big: 'completed',
      discount: 'completed',
      full: 'skipped',
      end: 'completed',
    });
    for (const node of nodes.filter(({ status }) => status === 'completed')) {
      expect(node.attempt).toBe(1);
      expect(Date.parse(node.startedAt ?? '')).toBeLessThanOrEqual(Date.parse(node.completedAt ?? ''));
    }
  });

  test('its events are numbered from 1 without a gap', async () => {
    const { data } = eventsShape.parse((await local.call('GET', `/v1/runs/${runId}/events`)).body);
    expect(data.map(({ eventId }) => eventId)).toEqual(data.map((_event, at) => at + 1));
    expect(data.at(-1)?.type).toBe('run.completed');
  });

  test('the same request again gets the same response, and starts nothing', async () => {
    const answer = await start(started, 'k1');
    expect([answer.status, startedShape.parse(answer.body).runId, answer.headers.get('idempotency-replayed')]).toEqual([
      202,
      runId,
      'true',
    ]);
  });

  test.each([
    ['another body under the same key', () => start({ ...started, input: {} }, 'k1'), 409, 'idempotency_conflict'],
    ['no key', () => start(started), 400, 'idempotency_required'],
    ['a run id that exists', () => start({ ...started, runId }, 'k2'), 409, 'run_exists'],
    ['an unpublished workflow', () => start({ ...started, workflowName: 'nope' }, 'k3'), 409, 'no_active_deployment'],
    ['a body of another shape', () => start({ workflowName: 7, unknownKey: 1 }, 'k4'), 400, 'invalid_request'],
    ['a body that is no JSON', () => start('{"workflowName":', 'k5'), 400, 'invalid_request'],
    ['a body of 7 MB', () => start({ ...started, input: { text: 'x'.repeat(7_000_000) } }, 'k6'), 413, 'payload_too_large'],
    [
      'an unknown key',
      () => local.call('GET', '/v1/runs', undefined, { authorization: `Bearer ${local.apiKey}x` }),
      401,
      undefined,
    ],
  ] as const)('%s is refused', async (_name, ask, status, code) => {
    const answer = await ask();
    expect(answer.status, JSON.stringify(answer.body)).toBe(status);
    if (code !== undefined) expect(answer.body).toMatchObject({ code });
    // API Gateway renames reserved headers, so clients would not find a header with such a name.
    expect([...answer.headers.keys()].filter((header) => header.startsWith('x-amzn-remapped-'))).toEqual([]);
  });

  test('every error of a body has its pointer', async () => {
    const { body } = await start({ workflowName: 7, unknownKey: 1 }, 'k7');
    expect(body).toMatchObject({
      errors: expect.arrayContaining([
        expect.objectContaining({ pointer: '/workflowName' }),
        expect.objectContaining({ pointer: '/unknownKey' }),
      ]),
    });
  });

  test('an unknown path gets an error in the same format', async () => {
    expect((await local.call('GET', '/nowhere')).body).toMatchObject({ code: 'not_found', correlationId: expect.any(String) });
  });

  test('a second start on the same folder is refused in one line', () => {
    const second = spawnSync(process.execPath, ['lib/local/main.ts'], {
      cwd: root,
      env: { ...process.env, STEPWELL_DIR: directory },
      encoding: 'utf8',
    });
    expect([second.status, second.stdout]).toEqual([1, '']);
    expect(second.stderr).toBe(`Stepwell already runs on ${directory}: process ${local.pid} at ${local.url}\n`);
  });

  test('only its owner may read its URL and key', () => {
    expect(['local.json', 'state/secrets.json'].map((file) => statSync(join(directory, file)).mode & 0o777)).toEqual([
      0o600, 0o600,
    ]);
  });
});
