/** Runs of a Workflow DevKit app in the command line: started, listed by a short name, and shown with plain values. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { encryptedText, fullWorkflowName, plainValue, shortWorkflowName } from '../../lib/cli/devkit-names.ts';
import { serializeArguments } from '../../lib/service/runs/devkit-values.ts';
import { fetchOf } from '../client/in-process.ts';
import { type CliEnvironment, type TestCli, createCliEnvironment, createFolder, errorIn } from './test-cli.ts';

const files = {
  'package.json': '{"name":"shop"}',
  'node_modules/workflow/package.json': '{"version":"5.0.0-beta.55","type":"module","exports":{"./api":"./api.js"}}',
  'node_modules/workflow/api.js': 'export const resumeWebhook = () => new Response();',
  'node_modules/@workflow/core/package.json': '{}',
  'node_modules/@workflow/world/package.json': '{"version":"5.0.0-beta.55","type":"module"}',
  'node_modules/@workflow/world/dist/spec-version.js': 'export const SPEC_VERSION_CURRENT = 7;',
  '.well-known/workflow/v1/flow.mjs': 'var cache = Symbol.for("@workflow/world//cache");',
  '.well-known/workflow/v1/manifest.json': JSON.stringify({
    version: '1.0.0',
    workflows: { 'workflows/order.ts': { order: { workflowId: 'workflow//./workflows/order//order', graph: {} } } },
    steps: {},
    classes: {},
  }),
};

let environment: CliEnvironment;
let admin: TestCli;
beforeEach(async () => {
  environment = createCliEnvironment();
  const cwd = createFolder();
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(cwd, path)), { recursive: true });
    writeFileSync(join(cwd, path), text);
  }
  const fetchApi = fetchOf(environment.api);
  admin = await environment.cliWithScopes(['admin'], {
    cwd,
    fetch: async (target, init = {}) => {
      if (!target.startsWith('memory:')) return fetchApi(target, init);
      environment.api.world.artifacts.receive(target, z.instanceof(Uint8Array).parse(init.body));
      return new Response('');
    },
  });
});

const printed = async (...args: readonly string[]): Promise<string> => {
  const { exitCode, out, err } = await admin.type(...args);
  expect({ exitCode, err }).toMatchObject({ exitCode: 0 });
  return out.trim();
};
const bytes = (value: object): { readonly $bytes: string } => ({
  $bytes: Buffer.from(`devl${JSON.stringify(value)}`).toString('base64'),
});

/** A call of the World by the app's code. */
async function record(runId: string, eventType: string, rest: object = {}): Promise<void> {
  const { api } = environment;
  const key = await api.key(['world:proxy']);
  const body = { runId, data: { eventType, specVersion: 7, ...rest } };
  expect(await api.call('POST', '/v1/world/events/create', { key, body })).toMatchObject({ status: 200 });
}

test('a run is started with plain arguments, and its first message is sent', async () => {
  await printed('deploy');
  const runId = await printed('runs', 'start', 'workflows/order//order', '--input', '["tea",{"count":2}]');
  expect(await printed('runs', 'get', runId)).toMatch(
    /^workflow {2}workflows\/order\/\/order on \w+$[^]*^input {5}\["tea",\{"count":2\}\]$/m,
  );
  const { api } = environment;
  const run = await api.call('GET', `/v1/world/runs/${runId}`, { key: await api.key(['world:proxy']) });
  expect(run.body).toMatchObject({ status: 'pending', specVersion: 7, input: bytes([[1, 2], 'tea', { count: 3 }, 2]) });
  expect(api.world.jobs.takeDevKitMessages()).toMatchObject([
    { queueName: '__wkf_workflow_workflow//./workflows/order//order', message: { value: { runId } } },
  ]);
});

test('a run shows its steps by name, its sleep, why it waits for a hook, and its output', async () => {
  await printed('deploy');
  const runId = await printed('runs', 'start', 'workflow//./workflows/order//order');
  await record(runId, 'run_started');
  const step = { correlationId: 'step_1' };
  const failed = { error: bytes(['busy']), retryAfter: { $date: new Date(environment.api.world.clock.now()).toISOString() } };
  await record(runId, 'step_created', {
    ...step,
    eventData: { stepName: 'step//./workflows/order//charge', input: bytes([[]]) },
  });
  await record(runId, 'step_started', step);
  await record(runId, 'step_retrying', { ...step, eventData: failed });
  await record(runId, 'step_started', step);
  await record(runId, 'step_completed', { ...step, eventData: { result: bytes([1]) } });
  await record(runId, 'hook_created', { correlationId: 'hook_1', eventData: { token: 'approve:tea' } });
  expect(await printed('runs', 'get', runId)).toMatch(/^charge +step +✓ completed +2 +\d+ ms *\n^hook_1 +hook +◷ waiting/m);
  expect(await printed('explain', runId)).toMatch(
    /^Node hook_1 \(hook\) waits for resumeHook\(\) of the app since .*; stepwell hooks resume approve:tea --payload '\{…\}' resumes it\. /,
  );
  // An event after the first one of its step has the id alone.
  const events = await printed('runs', 'events', runId);
  expect(events).not.toMatch(/step_1|step\/\//);
  const completed = events.split('\n').find((line) => line.includes('node.completed')) ?? '';
  expect(completed).toMatch(/ node\.completed {2}charge( |$)/);
  const [before = ''] = /^ *(\d+) /.exec(completed)?.slice(1) ?? [];
  expect(await printed('runs', 'events', runId, '--after', String(Number(before) - 1))).toMatch(
    / node\.completed {2}charge( |$)/m,
  );
  await record(runId, 'run_completed', {
    eventData: { output: bytes([{ by: 1, at: 2 }, 'ada', ['Date', '2026-01-31T12:00:00Z']]) },
  });
  expect(JSON.parse(await printed('runs', 'result', runId))).toEqual({ by: 'ada', at: '2026-01-31T12:00:00Z' });
  expect(await printed('runs', 'list', '--workflow', 'workflows/order//order')).toContain(runId);
  expect(await printed('runs', 'list', '--workflow', 'workflows/order//other')).toBe('No run matches.');
});

test('the lists of the World begin at an empty cursor, as the command line of the DevKit sends it', async () => {
  await printed('deploy');
  const runId = await printed('runs', 'start', 'workflows/order//order');
  const { api } = environment;
  const key = await api.key(['world:proxy']);
  const pagination = { limit: 20, cursor: '', sortOrder: 'desc' };
  const runs = await api.call('POST', '/v1/world/runs/list', { key, body: { pagination } });
  expect(runs).toMatchObject({ status: 200, body: { data: [{ runId }] } });
  const steps = await api.call('POST', '/v1/world/steps/list', { key, body: { runId, pagination } });
  expect(steps).toMatchObject({ status: 200, body: { data: [] } });
});

/** A run that waits for the hook with this token. */
async function waitingRun(token: string, more: object = {}): Promise<string> {
  await printed('deploy');
  const runId = await printed('runs', 'start', 'workflows/order//order');
  await record(runId, 'run_started');
  await record(runId, 'hook_created', { correlationId: 'hook_1', eventData: { token, ...more } });
  environment.api.world.jobs.takeDevKitMessages();
  return runId;
}

const eventsOf = async (runId: string): Promise<readonly unknown[]> => {
  const { api } = environment;
  const { body } = await api.call('POST', '/v1/world/events/list', { key: await api.key(['world:proxy']), body: { runId } });
  return z.object({ data: z.array(z.unknown()) }).parse(body).data;
};

describe('hooks resume', () => {
  test('records the payload as the DevKit serializes it, and sends the message that makes the code read it', async () => {
    const runId = await waitingRun('approve:tea');
    expect(await printed('hooks', 'resume', 'approve:tea', '--payload', '{"by":"ada"}')).toBe(
      `Hook hook_1 of ${runId} is resumed.`,
    );
    expect((await eventsOf(runId)).at(-1)).toMatchObject({
      eventType: 'hook_received',
      correlationId: 'hook_1',
      eventData: { token: 'approve:tea', payload: bytes([{ by: 1 }, 'ada']) },
    });
    expect(environment.api.world.jobs.takeDevKitMessages()).toMatchObject([
      { queueName: '__wkf_workflow_workflow//./workflows/order//order', message: { value: { runId } } },
    ]);
  });

  test('resumes it once for each idempotency key, and for each call without one', async () => {
    const runId = await waitingRun('approve:tea');
    const resume = (...args: readonly string[]) => admin.type('hooks', 'resume', 'approve:tea', '--json', ...args);
    for (const key of ['a', 'a', 'b'])
      expect(await resume('--payload', '1', '--idempotency-key', key)).toMatchObject({ exitCode: 0 });
    expect(errorIn(await resume('--payload', '2', '--idempotency-key', 'a'))).toMatchObject({ code: 'entity_conflict' });
    for (let calls = 0; calls < 2; calls += 1) expect(await resume()).toMatchObject({ exitCode: 0 });
    const received = (await eventsOf(runId)).filter((event) => JSON.stringify(event).includes('hook_received'));
    expect(received).toHaveLength(4);
  });

  test.each([
    ['an unknown token', async () => void (await waitingRun('approve:tea')), 'approve:coffee', 'hook_not_found'],
    ['a webhook', async () => void (await waitingRun('secret', { isWebhook: true })), 'secret', 'invalid_request'],
    [
      'a hook of a run that has ended',
      async () => void (await printed('runs', 'cancel', await waitingRun('approve:tea'))),
      'approve:tea',
      'hook_not_found',
    ],
    [
      'a disposed hook',
      async () => record(await waitingRun('approve:tea'), 'hook_disposed', { correlationId: 'hook_1' }),
      'approve:tea',
      'hook_not_found',
    ],
  ])('refuses %s', async (_name, arrange, token, code) => {
    await arrange();
    expect(errorIn(await admin.type('hooks', 'resume', token, '--json'))).toMatchObject({ code });
    expect(environment.api.world.jobs.takeDevKitMessages().filter(({ queueName }) => queueName.includes('order'))).toEqual([]);
  });

  test('a key of another environment does not find the hook', async () => {
    await waitingRun('approve:tea');
    const { api } = environment;
    const key = await api.key(['admin'], { env: 'other' });
    const body = { token: 'approve:tea' };
    expect(await api.call('POST', '/v1/world/hooks/resume', { key, body })).toMatchObject({ status: 404 });
  });

  test('explain does not show a token to a key that may not read it, nor the token of a webhook', async () => {
    const runId = await waitingRun('it is "mine"');
    expect(await printed('explain', runId)).toContain(`stepwell hooks resume 'it is "mine"' --payload`);
    const reader = await environment.cliWithScopes(['runs:read']);
    expect((await reader.type('explain', runId)).out).toContain('stepwell hooks resume <token> --payload');
    const other = await waitingRun('secret', { isWebhook: true });
    expect((await admin.type('explain', other)).out).toContain('a request to the address of its webhook resumes it');
    expect((await admin.type('explain', other)).out).not.toContain('secret');
  });
});

test('it is cancelled, resumed and rerun as other runs are, and not with another input', async () => {
  await printed('deploy');
  const runId = await printed('runs', 'start', 'workflows/order//order', '--input', '"tea"');
  expect(await printed('runs', 'resume', runId)).toBe(`${runId} is resumed.`);
  expect(await printed('runs', 'cancel', runId)).toBe(`${runId} is cancelled.`);
  const rerun = await printed('runs', 'rerun', runId);
  expect(await printed('runs', 'get', rerun)).toMatch(/^input {5}\["tea"\]$/m);
  expect(errorIn(await admin.type('runs', 'rerun', runId, '--input', '"coffee"', '--json'))).toMatchObject({
    code: 'invalid_request',
  });
});

test.each([
  ['before a deployment', [], 'workflows/order//order', 'no_active_deployment'],
  ['that the app does not have', ['deploy'], 'workflows/order//other', 'workflow_not_found'],
])('a start of a workflow %s is refused', async (_name, first, workflow, code) => {
  if (first.length > 0) await printed(...first);
  expect(errorIn(await admin.type('runs', 'start', workflow, '--json'))).toMatchObject({ code });
});

test.each([
  ['order-total', 'order-total'],
  ['workflow//./workflows/order//order', 'workflows/order//order'],
  ['workflow//shop/order//order', 'workflow//shop/order//order'],
])('%s is shown as %s, which names it too', (name, short) => {
  expect([shortWorkflowName(name), fullWorkflowName(short)]).toEqual([short, name]);
});

describe('a value of the DevKit', () => {
  test.each([
    ['undefined', -1, null],
    ['numbers that JSON does not have', [[-3, -4, -5, -6]], ['NaN', 'Infinity', '-Infinity', 0]],
    ['one object in two places', [[1, 1], { a: 2 }, 'b'], [{ a: 'b' }, { a: 'b' }]],
  ])('%s', (_name, table, value) => {
    expect(plainValue({ $bytes: Buffer.from(`devl${JSON.stringify(table)}`).toString('base64') })).toEqual(value);
  });

  test.each([
    ['a class of the app', bytes([['Instance', 1], {}])],
    ['a circle', bytes([{ self: 0 }])],
    ['a place that does not exist', bytes([[7]])],
    ['an encrypted value', { $bytes: Buffer.from('encrabc').toString('base64') }],
    ['broken JSON', { $bytes: Buffer.from('devl[').toString('base64') }],
    ['plain JSON', { order: 17 }],
  ])('%s stays as it is', (_name, value) => {
    expect(plainValue(value)).toBe(value);
  });

  test.each(['encr', 'encp'])('of the format %s has a sentence in its place', (mark) => {
    const value = { $bytes: Buffer.from(`${mark}abc`).toString('base64') };
    expect(encryptedText(value)).toBe('encrypted with the key of the run: only its app can read this value, by getRun()');
    expect([encryptedText({ $bytes: serializeArguments([1]) }), encryptedText('encr'), encryptedText(undefined)]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });

  test.each([[undefined], [[]], [{ order: [1, null, { deep: [true, 'x'] }] }], [['a', ['b']]], ['text'], [0]])(
    'arguments %j come back',
    (input) => {
      const list = input === undefined ? [] : Array.isArray(input) ? input : [input];
      expect(plainValue({ $bytes: serializeArguments(input) })).toEqual(list);
    },
  );
});
