/** Apps of the Workflow DevKit on threads, with bundles that do what those of the SDK do. */
import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import { describe, expect, test } from 'vitest';
import { setTimeout as delay } from 'node:timers/promises';
import { bundlePaths, devKitBundlePaths, devKitHostPath } from '../../lib/ports/bundles.ts';
import type { DevKitBuild } from '../../lib/ports/deployments.ts';
import type { WorldAnswer, WorldCalls } from '../../lib/ports/world-calls.ts';
import { runId } from '../../lib/engine/ids.ts';
import type { JsonValue } from '../../lib/engine/json.ts';
import { instant } from '../../lib/engine/time.ts';
import { answering, hostOf, scope } from './given.ts';

const module5: DevKitBuild = { sdkVersion: '5.0.0-beta.55', specVersion: 7, nodeVersion: '24.1.0', format: 'module' };
const commonJs4: DevKitBuild = { sdkVersion: '4.8.9', specVersion: 3, nodeVersion: '24.1.0', format: 'commonjs' };
const flow = devKitBundlePaths.module.workflow;
const ok = (body: unknown) => ({ kind: 'responded', status: 200, body });

interface Recorded extends WorldCalls {
  readonly calls: { readonly scope: object; readonly method: string; readonly body: JsonValue }[];
}

type Answer = Exclude<WorldAnswer, { readonly kind: 'answered' }> | { readonly kind: 'answered'; readonly value: unknown };

const worldOf = (answer: (method: string) => Answer | Promise<Answer>): Recorded => {
  const calls: Recorded['calls'] = [];
  return {
    calls,
    call: async (of, method, body) => {
      calls.push({ scope: of, method, body });
      const given = await answer(method);
      return given.kind === 'answered' ? { kind: 'answered', json: JSON.stringify(given.value) } : given;
    },
  };
};
const silent = worldOf(() => ({ kind: 'answered', value: null }));

/** As a bundle of the SDK does: it takes its World from the global, and makes its handler with it. */
const handling = (body: string): string => `
  const world = globalThis[Symbol.for('@workflow/world//cache')];
  const waitUntil = (promise) => globalThis[Symbol.for('@vercel/request-context')].get().waitUntil(promise);
  export const POST = world.createQueueHandler('__wkf_workflow_', async (message, meta) => { ${body} });`;

const headers = { 'x-vqs-queue-name': '__wkf_workflow_greet', 'x-vqs-message-id': 'msg_1', 'x-vqs-message-attempt': '2' };

/** Keeps the last upload. */
async function openBucket() {
  const requests: string[] = [];
  let stored: Buffer[] = [];
  const server = createServer((request, response) => {
    requests.push([request.method, request.headers['x-digest']].filter((part) => part !== undefined).join(' '));
    if (request.method === 'GET') return void response.end(Buffer.concat(stored));
    stored = [];
    request.on('data', (chunk: Buffer) => stored.push(chunk)).on('end', () => response.end());
  });
  const port = await new Promise<number>((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      resolve(typeof address === 'object' && address !== null ? address.port : 0);
    });
  });
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return { url: `http://127.0.0.1:${port}/value`, requests, close };
}

describe('a bundle of version 5', () => {
  test('calls its World over the thread, with bytes and times, in the scope of its deployment', async () => {
    const world = worldOf(() => ({
      kind: 'answered',
      value: { run: { output: { $bytes: 'AP8=' }, createdAt: { $date: '2026-11-25T00:00:00.000Z' } } },
    }));
    const host = hostOf({ world });
    const source = handling(`
      const { run } = await world.events.create('wrun_1', { eventType: 'run_started', eventData: { input: new Uint8Array([1]) } });
      if (run.output[1] !== 255 || run.createdAt.getTime() !== Date.UTC(2026, 10, 25)) throw new Error('not decoded');
      return { timeoutSeconds: meta.attempt };`);
    const manifest = await host.deploy('dpl_1', { [flow]: source }, module5);
    expect(await host.ask(manifest, { headers })).toEqual(ok({ timeoutSeconds: 2 }));
    const body = { runId: 'wrun_1', data: { eventType: 'run_started', eventData: { input: { $bytes: 'AQ==' } } } };
    expect(world.calls).toEqual([{ scope, method: 'events.create', body }]);
  });

  test('sends a value that is too large for a call to the address that its World has got, and gets one from an address', async () => {
    const bucket = await openBucket();
    const world = worldOf((method) => ({
      kind: 'answered',
      value:
        method === 'uploads.create'
          ? { upload: { method: 'PUT', url: bucket.url, headers: { 'x-digest': 'd' } } }
          : { step: { output: { $stored: { url: bucket.url, format: 'bytes' } } } },
    }));
    const host = hostOf({ world });
    const source = handling(`
      const input = new Uint8Array(4_000_000).fill(7);
      const { step } = await world.events.create('wrun_1', { eventType: 'step_created', eventData: { input } });
      return { timeoutSeconds: step.output.length };`);
    const manifest = await host.deploy('dpl_1', { [flow]: source }, module5);
    expect(await host.ask(manifest, { headers })).toEqual(ok({ timeoutSeconds: 4_000_000 }));
    const sha256 = createHash('sha256').update(Buffer.alloc(4_000_000, 7)).digest('hex');
    expect(world.calls.map(({ method, body }) => [method, body])).toEqual([
      ['uploads.create', { runId: 'wrun_1', sha256, bytes: 4_000_000 }],
      [
        'events.create',
        { runId: 'wrun_1', data: { eventType: 'step_created', eventData: { input: { $stored: { sha256, bytes: 4_000_000 } } } } },
      ],
    ]);
    expect(bucket.requests).toEqual(['PUT d', 'GET']);
    await bucket.close();
  });

  test('has the namespace of its queues as the SDK reads it', async () => {
    const host = hostOf({ world: silent });
    const source = handling(
      'return { timeoutSeconds: process.env.WORKFLOW_QUEUE_NAMESPACE === meta.queueName.slice(15) ? 1 : 2 };',
    );
    const ask = async (id: string, build: DevKitBuild) =>
      host.ask(await host.deploy(id, { [flow]: source }, build), {
        headers: { ...headers, 'x-vqs-queue-name': '__wkf_workflow_shop' },
      });
    expect(await ask('dpl_1', { ...module5, queueNamespace: 'shop' })).toEqual(ok({ timeoutSeconds: 1 }));
    expect(await ask('dpl_2', module5)).toEqual(ok({ timeoutSeconds: 2 }));
  });

  test('calls its World in no run, although each message names one: the thread outlives its first message', async () => {
    const world = worldOf(() => ({ kind: 'answered', value: {} }));
    const host = hostOf({ world });
    const manifest = await host.deploy(
      'dpl_1',
      { [flow]: handling(`await world.streams.write('wrun_hc_1', 'name', 'text');`) },
      module5,
    );
    const run = { ...scope, runId: runId('wrun_01KDVDNA0001ZPGCE7HQSG6B6B') };
    const limits = { endsAt: instant(Date.now() + 20_000), signal: new AbortController().signal };
    const request = { queueName: '__wkf_workflow_health_check', headers, body: {} };
    expect(await host.bundles.deliver(run, manifest, request, limits)).toEqual(ok({ ok: true }));
    expect(world.calls.map((call) => call.scope)).toEqual([scope]);
  });

  test('sees the spec version, the deployment and the deadline', async () => {
    const world = worldOf(() => ({ kind: 'answered', value: null }));
    const host = hostOf({ world });
    const source = handling(`
      const left = (await world.getRuntimeDeadline()).getTime() - Date.now();
      const { specVersion, capabilities } = world;
      await world.events.create('wrun_1', { specVersion, capabilities, own: await world.getDeploymentId(), isNear: left > 0 && left <= 30_000 });`);
    const manifest = await host.deploy('dpl_1', { [flow]: source }, module5);
    expect(await host.ask(manifest, { headers, withinMs: 30_000 })).toEqual(ok({ ok: true }));
    const capabilities = { hookResumeDedup: true, deploymentAffinity: true };
    expect(world.calls).toMatchObject([{ body: { data: { specVersion: 7, capabilities, own: 'dpl_1', isNear: true } } }]);
  });

  test('gets the errors of the SDK, and a failed call as one for which the message is repeated', async () => {
    const world = worldOf((method) => {
      if (method === 'runs.get') return { kind: 'refused', status: 404, code: 'run_not_found', message: 'no run' };
      throw new Error('the store is away');
    });
    const host = hostOf({ world });
    const source = handling(`
      const [first, second] = await Promise.all([world.runs.get('wrun_1'), world.events.list({ runId: 'wrun_1' })].map((call) => call.catch((error) => error)));
      if (first.name !== 'WorkflowRunNotFoundError' || second.code !== 'TRANSPORT') throw new Error('other errors');`);
    expect(await host.ask(await host.deploy('dpl_1', { [flow]: source }, module5), { headers })).toEqual(ok({ ok: true }));
  });

  test('is acknowledged after the work that it leaves behind, and after what that leaves behind', async () => {
    const world = worldOf(() => ({ kind: 'answered', value: null }));
    const host = hostOf({ world });
    const source = handling(`
      const later = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
      waitUntil(later(50).then(() => { waitUntil(later(50).then(() => world.streams.close('wrun_1', 'strm_1'))); throw new Error('ignored'); }));`);
    expect(await host.ask(await host.deploy('dpl_1', { [flow]: source }, module5), { headers })).toEqual(ok({ ok: true }));
    expect(world.calls.map(({ method }) => method)).toEqual(['streams.close']);
  });

  test('that replaces its World fails the message with the reason', async () => {
    const host = hostOf({ world: silent });
    const source = handling(`globalThis[Symbol.for('@workflow/world//cache')] = {};`);
    expect(await host.ask(await host.deploy('dpl_1', { [flow]: source }, module5), { headers })).toEqual({
      kind: 'unloadable',
      message: expect.stringMatching(/has set a World of its own/),
    });
  });

  test('is unloadable where no World is served', async () => {
    const host = hostOf();
    expect(await host.ask(await host.deploy('dpl_1', { [flow]: handling('') }, module5), { headers })).toMatchObject({
      kind: 'unloadable',
    });
  });
});

test('a webhook passes its method, and answers with the last one of several cookies', async () => {
  const host = hostOf({ world: silent });
  const source = `export const resumeWebhook = async (token, request) => new Response(request.method === 'HEAD' ? null : await request.text(), {
    headers: [['set-cookie', 'a=1'], ['set-cookie', 'b=2'], ['x-seen', [request.method, request.url, token].join(' ')]] });`;
  const manifest = await host.deploy('dpl_1', { [devKitHostPath]: source, [flow]: handling('') }, module5);
  const ask = (method: string) => {
    const request = { method, url: 'https://api.test/hook?a=1', headers: {}, body: new TextEncoder().encode('body') };
    const limits = { endsAt: instant(Date.now() + 20_000), signal: new AbortController().signal };
    return host.bundles.resumeWebhook(scope, manifest, { token: 't', request }, limits);
  };
  for (const [method, body] of [
    ['PUT', 'body'],
    ['DELETE', 'body'],
    ['GET', ''],
    ['HEAD', ''],
    ['OPTIONS', 'body'],
  ] as const) {
    const answer = await ask(method);
    expect(answer).toMatchObject({
      kind: 'answered',
      response: { status: 200, headers: { 'set-cookie': 'b=2', 'x-seen': `${method} https://api.test/hook?a=1 t` } },
    });
    if (answer.kind === 'answered') expect(new TextDecoder().decode(answer.response.body)).toBe(body);
  }
  // No request object has this method.
  expect(await ask('TRACE')).toMatchObject({ kind: 'crashed' });
});

describe('a bundle of version 4', () => {
  const handler = (prefix: string): string => `
    const world = globalThis[Symbol.for('@workflow/world//stubbedCache')];
    module.exports = { POST: world.createQueueHandler('${prefix}', async () => ({ timeoutSeconds: require('node:path').sep.length })) };`;

  test('is CommonJS, and has bundles for workflows and for steps', async () => {
    const host = hostOf({ world: silent });
    const files = { [bundlePaths.workflow]: handler('__wkf_workflow_'), [bundlePaths.step]: handler('__wkf_step_') };
    const manifest = await host.deploy('dpl_1', files, commonJs4);
    expect(await host.ask(manifest, { headers })).toEqual(ok({ timeoutSeconds: 1 }));
    const queueName = '__wkf_step_step//./a//b';
    expect(await host.ask(manifest, { queueName, headers: { ...headers, 'x-vqs-queue-name': queueName } })).toEqual(
      ok({ timeoutSeconds: 1 }),
    );
  });
});

describe('harms no other deployment', () => {
  test.each([
    ['exits the process', handling('process.exit(1);'), 20_000],
    ['exits the process at its import', 'process.exit(1);', 20_000],
    ['throws at its import', `throw new Error('no such setting');`, 20_000],
    ['blocks', handling('for (;;);'), 300],
    ['leaves work behind that never ends', handling('waitUntil(new Promise(() => {}));'), 300],
    [
      'fills its memory',
      handling('const kept = []; for (;;) kept.push(new Array(100_000).fill(meta.attempt).map(String));'),
      20_000,
    ],
    ['waits for an answer to a call that is unknown', handling(`await world.runs.get('gone');`), 300],
  ])('a bundle that %s', async (_what, source, withinMs) => {
    const world = worldOf((method) =>
      method === 'runs.get'
        ? delay(60_000, { kind: 'answered', value: null }, { ref: false })
        : { kind: 'answered', value: { deploymentId: 'x' } },
    );
    const host = hostOf({ world, memoryMb: 64 });
    const good = await host.deploy(
      'dpl_good',
      { [flow]: handling(`await new Promise((resolve) => setTimeout(resolve, 400)); await world.resolveLatestDeploymentId();`) },
      module5,
    );
    const bad = await host.deploy('dpl_bad', { [flow]: source }, module5);
    const [one, other] = await Promise.all([host.ask(good, { headers }), host.ask(bad, { headers, withinMs })]);
    expect(one).toEqual(ok({ ok: true }));
    expect(other.kind).toMatch(/^(crashed|unloadable|timed_out)$/);
    expect(await host.ask(good, { headers })).toEqual(ok({ ok: true }));
  });

  test('a thread that asks for the calls of another runtime gets no answer', async () => {
    const world = worldOf(() => ({ kind: 'answered', value: null }));
    const host = hostOf({ world });
    const source = `import { parentPort } from 'node:worker_threads';
      parentPort.postMessage({ kind: 'world_call', call: 1, method: 'runs.list', body: '{}' });
      ${answering(`'done'`)}`;
    expect(await host.ask(await host.deploy('dpl_1', source))).toEqual(ok('done'));
    expect(world.calls).toEqual([]);
  });
});
