/** The failure of an `http` node contains what the attempt sent, without secrets. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { JsonObject } from '../../lib/engine/json.ts';
import { failureLimits } from '../../lib/engine/log/event-limits.ts';
import { createAttemptRunner } from '../../lib/nodes/attempt-runner.ts';
import { createRunners } from '../../lib/nodes/runners.ts';
import { shownRequestLimits } from '../../lib/nodes/http/shown-request.ts';
import { inputOf, planNode, toolsOf } from './given.ts';
import { OtherSide, reachOf } from './other-side.ts';

const server = new OtherSide();
beforeAll(() => server.start());
afterAll(() => server.stop());
let status = 422;
beforeEach(() => {
  status = 422;
  server.answers((_request, response) => {
    response.statusCode = status;
    response.end('because');
  });
});

/** The last one is too short to be masked. */
const secrets: Readonly<Record<string, string>> = { key: 'planted-secret', pin: '4711' };
const attempt = createAttemptRunner(createRunners({ networkAccess: reachOf() }), {
  secret: async (_scope, name) => ({ kind: 'secret', text: secrets[name] ?? '' }),
});
const send = async (config: JsonObject, context: JsonObject = {}) => {
  const node = planNode('http', { url: server.url('/orders/{{ctx.id}}'), method: 'POST', ...config });
  const { outcome } = await attempt(node, inputOf(context), toolsOf());
  return outcome;
};
const requestIn = async (config: JsonObject, context: JsonObject = {}) => {
  const outcome = await send(config, context);
  return outcome.kind === 'failed' ? outcome.failure.details?.['request'] : undefined;
};

test('the URL, the headers and the body are those after the templates', async () => {
  const request = await requestIn(
    { headers: { 'x-tenant': '{{ctx.tenant}}' }, body: { total: '{{ctx.total}}' } },
    { id: 7, tenant: 'acme', total: 12 },
  );
  expect(request).toEqual({
    method: 'POST',
    url: server.url('/orders/7'),
    headers: expect.objectContaining({ 'content-type': 'application/json', 'x-tenant': 'acme' }),
    body: '{"total":12}',
  });
});

test('secrets are placeholders, however short, and values with names of credentials are hidden', async () => {
  const request = await requestIn(
    {
      headers: { 'x-tenant': 'a {{secret:pin}}', authorization: 'Bearer {{secret:key}}', 'x-api-key': 'literal' },
      query: { pin: '{{secret:pin}}', token: 'literal' },
      body: { pin: '{{secret:pin}}', echoed: '{{ctx.echoed}}' },
    },
    { id: 7, echoed: 'planted-secret' },
  );
  expect(request).toMatchObject({
    url: server.url('/orders/7?pin=[secret:pin]&token=[hidden]'),
    headers: { 'x-tenant': 'a [secret:pin]', authorization: '[hidden]', 'x-api-key': '[hidden]' },
    body: '{"pin":"[secret:pin]","echoed":"[secret:key]"}',
  });
  expect(JSON.stringify(request)).not.toMatch(/4711|planted|literal/);
});

test('it is bounded, and a secret at the border is not cut into a part', async () => {
  const pad = 'x'.repeat(shownRequestLimits.body - 5);
  const request = await requestIn(
    { body: '{{ctx.text}}', headers: { h: '{{secret:key}}' } },
    { id: 7, text: `${pad}planted-secret` },
  );
  expect(request).toMatchObject({ body: `${pad}[secr…` });
  expect(JSON.stringify(request).length).toBeLessThan(failureLimits.details / 2);
});

test('an unreachable server and a timeout have it too; a success has none', async () => {
  expect(await requestIn({ url: 'http://api.test:1/x' })).toMatchObject({ method: 'POST', url: 'http://api.test:1/x' });
  status = 200;
  expect(JSON.stringify(await send({}))).not.toContain('"request"');
});
