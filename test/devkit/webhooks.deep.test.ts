/** Webhooks of deployed apps at each supported version of the SDK, over the address that `createWebhook()` gave. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { cli } from '../e2e/code-projects.ts';
import { type InProcessCloud, startInProcessCloud } from '../e2e/in-process-cloud.ts';
import { plainValue } from '../../lib/cli/devkit-names.ts';
import { rotatingItem } from '../tier.ts';
import { sdkVersions } from './built-app.ts';
import { ordersApp } from './orders-app.ts';

let served: InProcessCloud;
beforeAll(async () => {
  served = await startInProcessCloud();
});
afterAll(() => served.stop());

const hooksPage = z.object({ data: z.array(z.object({ token: z.string() })) });

const start = async (workflow: string): Promise<{ readonly runId: string; readonly token: string }> => {
  const { status, body } = await served.call(
    'POST',
    '/v1/runs',
    { workflowName: `workflow//./workflows/webhooks//${workflow}` },
    {
      'idempotency-key': crypto.randomUUID(),
    },
  );
  expect([status, body]).toEqual([202, expect.anything()]);
  const { runId } = z.object({ runId: z.string() }).parse(body);
  let token: string | undefined;
  await expect
    .poll(
      async () => {
        const page = await served.call('POST', '/v1/world/hooks/list', { runId });
        token = hooksPage.parse(page.body).data[0]?.token;
        return token;
      },
      { timeout: 120_000, interval: 100 },
    )
    .toBeDefined();
  return { runId, token: token ?? '' };
};

const addressOf = (token: string): string => `${served.url}/devkit/default/local/.well-known/workflow/v1/webhook/${token}`;

const resultOf = async (runId: string): Promise<unknown> => {
  let result: unknown;
  await expect
    .poll(
      async () => {
        const { body } = await served.call('GET', `/v1/runs/${runId}?resolveData=all`);
        const run = z.object({ status: z.string(), result: z.unknown().optional(), output: z.unknown().optional() }).parse(body);
        result = plainValue(run.result ?? run.output);
        return run.status;
      },
      { timeout: 120_000, interval: 100 },
    )
    .toBe('completed');
  return result;
};

const errorCode = z.object({ code: z.string() });

describe.each(rotatingItem(sdkVersions))('a webhook of an app of workflow %s', (sdkVersion) => {
  beforeAll(async () => {
    const app = await ordersApp(sdkVersion);
    await cli(served, app.folder, 'deploy', '--json');
  });

  test('answers 202 and gives the workflow the method, the headers and the bytes of a body of 1 MB', async () => {
    const { runId, token } = await start('byDefault');
    const body = new Uint8Array(1_048_576).fill(255);
    body[0] = 0;
    const headers = { 'content-type': 'application/octet-stream', 'x-kind': 'first' };
    const response = await fetch(addressOf(token), { method: 'PUT', headers, body });
    expect([response.status, await response.text()]).toEqual([202, '']);
    const url = addressOf(token).replace('http:', 'https:');
    expect(await resultOf(runId)).toEqual({ method: 'PUT', kind: 'first', url, token, length: 1_048_576, first: 0, last: 255 });
    const again = await fetch(addressOf(token), { method: 'POST' });
    expect([again.status, errorCode.parse(await again.json()).code]).toEqual([404, 'hook_not_found']);
  });

  test('answers with the static response', async () => {
    const { runId, token } = await start('withStatic');
    const response = await fetch(addressOf(token), { method: 'DELETE' });
    expect([response.status, response.headers.get('x-answer'), await response.text()]).toEqual([201, 'static', 'pong']);
    expect(await resultOf(runId)).toEqual({ method: 'DELETE' });
  });

  test('answers with the bytes that the workflow responds', async () => {
    const { runId, token } = await start('withManual');
    const response = await fetch(addressOf(token), { method: 'POST', body: 'hello' });
    expect([response.status, response.headers.get('x-answer'), response.headers.get('content-type')]).toEqual([
      209,
      'hello',
      'application/octet-stream',
    ]);
    expect([...new Uint8Array(await response.arrayBuffer())]).toEqual([0, 255, 1, 254]);
    expect(await resultOf(runId)).toEqual({ text: 'hello' });
  });
});

test.each([
  ['an unknown token', '/devkit/default/local/.well-known/workflow/v1/webhook/unknown', 'hook_not_found'],
  ['another environment', '/devkit/default/other/.well-known/workflow/v1/webhook/unknown', 'hook_not_found'],
  ['another path', '/devkit/default/local/.well-known/workflow/v1/flow', 'not_found'],
])('%s is not found', async (_name, path, code) => {
  const response = await fetch(`${served.url}${path}`, { method: 'POST' });
  expect([response.status, errorCode.parse(await response.json()).code]).toEqual([404, code]);
});

test('a body above 1 MB is refused before the token is looked up', async () => {
  const response = await fetch(addressOf('unknown'), { method: 'POST', body: 'a'.repeat(1_048_577) });
  expect([response.status, errorCode.parse(await response.json()).code]).toEqual([413, 'payload_too_large']);
});
