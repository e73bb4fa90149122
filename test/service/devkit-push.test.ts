/** Messages to an application at its own address: its registration, the signature that its World checks, and what each response leads to. */
import { beforeEach, describe, expect, test } from 'vitest';
import type { JsonObject } from '../../lib/engine/json.ts';
import { minutes } from '../../lib/engine/time.ts';
import type { AppRequest, AppResponse } from '../../lib/ports/devkit.ts';
import { checkHealth, healthTimeout } from '../../lib/service/kinds/devkit/check-health.ts';
import { publishDevKitMessage } from '../../lib/service/kinds/devkit/publish-devkit-message.ts';
import { registerApp } from '../../lib/service/kinds/devkit/register-app.ts';
import { writeStream } from '../../lib/service/kinds/devkit/streams.ts';
import { appHost } from '../../lib/world/app-host.ts';
import { queueHandler } from '../../lib/world/delivery.ts';
import { type DevKitEnv, answered, createDevKitEnv, workflowName } from './devkit-test-env.ts';
import { overrideMethods } from './override-methods.ts';
import { scope } from './test-env.ts';

const flow = `__wkf_workflow_${workflowName}`;
const step = '__wkf_step_step//./workflows/order//charge';

let env: DevKitEnv;
beforeEach(async () => void (env = await createDevKitEnv()));

async function publish(queueName: string, message: JsonObject = {}): Promise<void> {
  const run = await env.start();
  const head = await env.env.deps.log.head(run);
  if (head?.kind !== 'devkit') throw new Error('no run');
  const runIds = queueName === flow ? { runId: run.runId } : { workflowRunId: run.runId };
  answered(await publishDevKitMessage(env.world, { scope, queueName, message: { ...runIds, ...message } }, head));
  await env.env.settle();
}

/** The World of an application at this address, as `stepwell/world` builds it. */
const worldAt = (baseUrl: string) =>
  appHost(async () => answered(await registerApp(env.env.deps, scope, { baseUrl })), {
    environment: () => ({ STEPWELL_APP_URL: baseUrl }),
    specVersion: () => 5,
    now: () => env.env.deps.clock.now(),
  });

const statusAt = async (baseUrl: string, { url, headers, body }: AppRequest): Promise<number> => {
  const request = new Request(url, { method: 'POST', headers, body });
  const handle = queueHandler('__wkf_', async () => undefined, worldAt(baseUrl).checkDelivery);
  return (await handle(request)).status;
};

describe('a delivery', () => {
  test.each([
    [flow, 'flow'],
    [step, 'step'],
  ])('of %s is posted to the route of its kind, and the application’s World accepts it', async (queueName, route) => {
    await publish(queueName);
    const [request] = env.received;
    expect(request?.url).toBe(`https://app.example.com/.well-known/workflow/v1/${route}`);
    expect(request && (await statusAt('https://app.example.com', request))).toBe(200);
  });

  test('is refused by another application, after five minutes, and with another body', async () => {
    await publish(flow);
    const [request] = env.received;
    if (request === undefined) throw new Error('nothing was sent');
    expect(await statusAt('https://other.example.com', request)).toBe(401);
    expect(await statusAt('https://app.example.com', { ...request, body: '{"runId":"wrun_other"}' })).toBe(401);
    env.env.ports.clock.advance(minutes(6));
    expect(await statusAt('https://app.example.com', request)).toBe(401);
  });

  test.each<[string, AppResponse]>([
    ['status 401, as from a World with another secret', { kind: 'responded', status: 401, body: { error: 'wrong' } }],
    ['status 404, as from an application without the DevKit', { kind: 'responded', status: 404, body: undefined }],
    ['status 307, as from a proxy', { kind: 'responded', status: 307, body: undefined }],
    ['status 500', { kind: 'responded', status: 500, body: undefined }],
    ['a timeout', { kind: 'failed', reason: 'The operation was aborted due to timeout' }],
    ['a forbidden address', { kind: 'failed', reason: 'it is not an address of the public internet' }],
  ])('that ends with %s comes again with a signature of its own, until the application takes it', async (_what, response) => {
    let calls = 0;
    env.answerWith(() => ((calls += 1) <= 2 ? response : { kind: 'responded', status: 200, body: { ok: true } }));
    await publish(flow);
    for (let rounds = 0; rounds < 10 && env.received.length < 3; rounds += 1) {
      env.env.ports.clock.advance(minutes(1));
      await env.env.settle();
    }
    expect(env.received.map(({ headers }) => headers['x-vqs-message-attempt'])).toEqual(['1', '2', '3']);
    expect(new Set(env.received.map(({ headers }) => headers['x-vqs-message-id'])).size).toBe(1);
    expect(new Set(env.received.map(({ headers }) => headers['x-stepwell-signature'])).size).toBe(3);
    const last = env.received[2];
    expect(last && (await statusAt('https://app.example.com', last))).toBe(200);
  });
});

describe('a registration', () => {
  test.each(['', 'shop.example.com', 'ftp://shop.example.com', 'https://user:secret@shop.example.com', 'https://'])(
    'of %j is refused',
    async (baseUrl) => {
      expect(await registerApp(env.env.deps, scope, { baseUrl })).toMatchObject({ kind: 'refused', code: 'invalid_request' });
    },
  );

  test('of an address that messages cannot reach is refused with the reason, and registers nothing', async () => {
    const asked: string[] = [];
    const refuse = async ({ href }: URL) => (asked.push(href), 'it is not an address of the public internet');
    const result = await registerApp(env.env.deps, scope, { baseUrl: 'http://localhost:3000/base' }, refuse);
    expect(result).toEqual({
      kind: 'refused',
      code: 'invalid_request',
      pointer: '/baseUrl',
      message: 'messages cannot be sent to http://localhost:3000: it is not an address of the public internet',
    });
    expect(asked).toEqual(['http://localhost:3000/base']);
  });

  test('of a later spec version than Stepwell stores is refused', async () => {
    expect(await registerApp(env.env.deps, scope, { baseUrl: 'https://new.example.com', specVersion: 8 })).toMatchObject({
      code: 'run_not_supported',
      message: expect.stringContaining('spec version 8'),
    });
  });

  test('that is repeated keeps its id and its secret, so that open runs and messages stay valid', async () => {
    const [first, again] = [
      answered(await registerApp(env.env.deps, scope, { baseUrl: 'https://shop.example.com' })),
      answered(await registerApp(env.env.deps, scope, { baseUrl: 'https://shop.example.com/' })),
    ];
    expect(again).toEqual(first);
    const elsewhere = answered(await registerApp(env.env.deps, scope, { baseUrl: 'https://shop.example.com/two' }));
    expect(elsewhere.deploymentId).not.toBe(first.deploymentId);
    expect(elsewhere.secret).not.toBe(first.secret);
  });
});

describe('a health check of a registered application', () => {
  const check = () => {
    const clock = overrideMethods(env.env.deps.clock, {
      sleep: async (wait) => {
        env.env.ports.clock.advance(wait);
        await env.env.settle();
      },
    });
    return checkHealth({ ...env.env.deps, clock }, scope, env.app);
  };

  test('is posted to it, and its answer is in the stream of the check', async () => {
    const answers: Promise<unknown>[] = [];
    env.answerWith(({ body }) => {
      const [, id = ''] = /"correlationId":"(\w+)"/.exec(body) ?? [];
      const text = JSON.stringify({ healthy: true, workflowCoreVersion: '4.8.9', specVersion: 3 });
      answers.push(writeStream(env.env.deps, { scope, name: `__health_check__${id}` }, [text]));
      return { kind: 'responded', status: 200, body: { ok: true } };
    });
    expect(await check()).toMatchObject({ kind: 'healthy', sdkVersion: '4.8.9', specVersion: 3 });
    expect(env.received.map(({ url }) => url)).toEqual(['https://app.example.com/.well-known/workflow/v1/flow']);
    await Promise.all(answers);
  });

  test('ends after its timeout if the application does not answer', async () => {
    env.answerWith(() => ({ kind: 'failed', reason: 'connection refused' }));
    const health = await check();
    expect(health.kind).toBe('silent');
    expect('waited' in health ? health.waited : 0).toBeGreaterThanOrEqual(healthTimeout);
  });
});
