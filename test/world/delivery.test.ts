/** Handlers of messages: what they pass to the SDK, and which deliveries they refuse. */
import { expect, test } from 'vitest';
import { FakeTransport, answered, worldOver } from './fake-transport.ts';
import { encodeTagged } from '../../lib/world/tagged-json.ts';
import { appHost } from '../../lib/world/app-host.ts';
import { type Delivery, deliveryHeaders, queueHandler, signDelivery } from '../../lib/world/delivery.ts';
import type { MessageHandler } from '../../lib/world/types.ts';

const secret = 'a secret of an application';
const nowSeconds = 1_764_111_600;
const message = {
  runId: 'wrun_1',
  requestedAt: new Date('2026-11-25T00:00:00.000Z'),
  runInput: { input: new Uint8Array([0, 255]) },
};
const delivery: Delivery = {
  queueName: '__wkf_workflow_workflow//./x//y',
  messageId: 'msg_1',
  attempt: 2,
  body: JSON.stringify(encodeTagged(message)),
};

interface Changes extends Partial<Delivery> {
  readonly timestamp?: number;
  readonly signature?: string;
}

const requestOf = ({
  timestamp = nowSeconds,
  signature = signDelivery(secret, timestamp, delivery),
  ...changes
}: Changes = {}): Request => {
  const { queueName, messageId, attempt, body } = { ...delivery, ...changes };
  return new Request('http://localhost/.well-known/workflow/v1/flow', {
    method: 'POST',
    body,
    headers: {
      [deliveryHeaders.queueName]: queueName,
      [deliveryHeaders.messageId]: messageId,
      [deliveryHeaders.attempt]: String(attempt),
      [deliveryHeaders.timestamp]: String(timestamp),
      [deliveryHeaders.signature]: signature,
    },
  });
};

const env = { STEPWELL_APP_URL: 'https://shop.example.com', STEPWELL_URL: 'https://api.example.com' };
const registered: string[] = [];
const hostIn = (variables: Readonly<Record<string, string>>) =>
  appHost(
    async (_method, body) => {
      registered.push(String(body['baseUrl']));
      return { deploymentId: 'dpl_1', secret };
    },
    { environment: () => variables, specVersion: () => 5, now: () => nowSeconds * 1_000 },
  );

const answer = async (request: Request, handler: MessageHandler = async () => {}, host = hostIn(env)) => {
  const response = await queueHandler('__wkf_workflow_', handler, host.checkDelivery)(request);
  return [response.status, await response.json()];
};

test('a genuine delivery reaches the handler with its bytes, times and attempt', async () => {
  const received: unknown[] = [];
  expect(await answer(requestOf(), async (...each) => void received.push(...each))).toEqual([200, { ok: true }]);
  expect(received).toEqual([message, { queueName: delivery.queueName, messageId: 'msg_1', attempt: 2 }]);
});

test('the result of the handler is the answer', async () => {
  expect(await answer(requestOf(), async () => ({ timeoutSeconds: 0 }))).toEqual([200, { timeoutSeconds: 0 }]);
  expect(await answer(requestOf(), async () => ({ timeoutSeconds: 'soon' }))).toEqual([200, { ok: true }]);
  const failing = async (): Promise<never> => Promise.reject(new Error('broken'));
  expect(await answer(requestOf(), failing)).toEqual([500, { error: 'Error: broken' }]);
});

test.each<[string, Changes, number]>([
  ['a wrong signature', { signature: `v1=${'0'.repeat(64)}` }, 401],
  ['no signature', { signature: '' }, 401],
  ['a signature of another secret', { signature: signDelivery('another', nowSeconds, delivery) }, 401],
  ['an old signature', { timestamp: nowSeconds - 301 }, 401],
  ['a signature from the future', { timestamp: nowSeconds + 301 }, 401],
  ['another body', { body: '{"runId":"wrun_2"}' }, 401],
  ['another queue', { queueName: '__wkf_workflow_other' }, 401],
  ['another message', { messageId: 'msg_2' }, 401],
  ['another attempt', { attempt: 3 }, 401],
  ['no attempt', { attempt: Number.NaN }, 400],
])('%s is refused, and the handler is not called', async (_what, changes, status) => {
  let calls = 0;
  const [found] = await answer(requestOf(changes), async () => void (calls += 1));
  expect([found, calls]).toEqual([status, 0]);
});

test('a signature is accepted up to five minutes apart', async () => {
  for (const timestamp of [nowSeconds - 300, nowSeconds + 300])
    expect(await answer(requestOf({ timestamp }))).toEqual([200, { ok: true }]);
});

test('a message of another kind of queue is refused', async () => {
  const queueName = '__wkf_step_x';
  const signature = signDelivery(secret, nowSeconds, { ...delivery, queueName });
  expect(await answer(requestOf({ queueName, signature }))).toMatchObject([
    400,
    { error: expect.stringContaining('__wkf_step_x') },
  ]);
});

test('an application without an address takes no messages', async () => {
  expect(await answer(requestOf(), undefined, hostIn({ STEPWELL_URL: 'https://api.example.com', PORT: '3000' }))).toMatchObject([
    401,
    {},
  ]);
});

test.each([
  [{ ...env }, 'https://shop.example.com'],
  [{ ...env, STEPWELL_APP_URL: 'https://shop.example.com/base/' }, 'https://shop.example.com/base'],
  [{ STEPWELL_URL: 'http://localhost:4000', PORT: '3000' }, 'http://localhost:3000'],
  [{ STEPWELL_URL: 'https://api.example.com', PORT: '3000' }, undefined],
  [{ ...env, WORKFLOW_EXECUTION_MODE: 'remote' }, undefined],
])('with %j the registered address is %s', async (variables, address) => {
  registered.length = 0;
  const host = hostIn(variables);
  expect(await host.deploymentId()).toBeUndefined();
  await host.start();
  await host.start();
  expect([registered, await host.deploymentId()]).toEqual(address === undefined ? [[], undefined] : [[address], 'dpl_1']);
});

test('an application that still registers starts runs for its own address', async () => {
  const host = hostIn(env);
  const starting = host.start();
  expect(await host.deploymentId()).toBe('dpl_1');
  await starting;
});

test('an application registers the namespace of its queues', async () => {
  const bodies: unknown[] = [];
  const host = appHost(
    async (_method, body) => {
      bodies.push(body);
      return { deploymentId: 'dpl_1', secret };
    },
    { environment: () => ({ ...env, WORKFLOW_QUEUE_NAMESPACE: 'shop' }), specVersion: () => 5, now: () => nowSeconds * 1_000 },
  );
  await host.start();
  expect(bodies).toEqual([{ baseUrl: env.STEPWELL_APP_URL, specVersion: 5, queueNamespace: 'shop' }]);
});

test('a registration that failed is tried again', async () => {
  let calls = 0;
  const host = appHost(
    async () => {
      calls += 1;
      if (calls === 1) throw new Error('unreachable');
      return { deploymentId: 'dpl_1', secret };
    },
    { environment: () => env, specVersion: () => 5, now: () => nowSeconds * 1_000 },
  );
  await expect(host.start()).rejects.toThrow('unreachable');
  await host.start();
  expect(await host.deploymentId()).toBe('dpl_1');
});

test.each([
  ['shop', '__wkf_step_step//./a//b', '__shop_wkf_step_step//./a//b'],
  ['shop', '__shop_wkf_workflow_w', '__shop_wkf_workflow_w'],
  [undefined, '__wkf_step_step//./a//b', '__wkf_step_step//./a//b'],
])('with the namespace %s a message for %s goes to %s', async (namespace, queueName, sentTo) => {
  const transport = new FakeTransport(() => answered({ messageId: 'msg_1' }));
  await worldOver(transport, { queueNamespace: () => namespace }).queue(queueName, { runId: 'wrun_1' });
  expect(transport.calls.map(({ body }) => body['queueName'])).toEqual([sentTo]);
});
