/** Webhooks of apps: which token leads to which run, and how a request reaches an application that executes its runs itself. */
import { createHmac } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { WorldRequest } from '../../lib/engine/devkit/decide.ts';
import { environment } from '../../lib/engine/ids.ts';
import { after, seconds } from '../../lib/engine/time.ts';
import type { WebhookRequest } from '../../lib/ports/bundles.ts';
import type { AppCalls } from '../../lib/ports/devkit.ts';
import { findWebhook } from '../../lib/service/kinds/devkit/find-webhook.ts';
import { KnownDeployments } from '../../lib/service/deployments/known-deployments.ts';
import { resumeWebhook } from '../../lib/service/kinds/devkit/resume-webhook.ts';
import { type DevKitEnv, answered, bytes, createDevKitEnv, hook } from './devkit-test-env.ts';
import { scope } from './test-env.ts';

const webhook = (token: string): WorldRequest => ({ ...hook(token), data: { token, isWebhook: true } });

const withWebhook = async (): Promise<DevKitEnv & { readonly run: Awaited<ReturnType<DevKitEnv['start']>> }> => {
  const env = await createDevKitEnv();
  const run = await env.start();
  answered(await env.ask(run, webhook('order')));
  return { ...env, run };
};

describe('the token of a webhook', () => {
  test('leads to its run and its deployment, in its environment only', async () => {
    const { env, run, app } = await withWebhook();
    expect(await findWebhook(env.deps, scope, 'order')).toEqual({ runId: run.runId, deploymentId: app });
    expect(await findWebhook(env.deps, scope, 'other')).toBeUndefined();
    expect(await findWebhook(env.deps, { ...scope, environment: environment('other') }, 'order')).toBeUndefined();
  });

  test.each<[string, WorldRequest]>([
    ['whose run has ended', { event: 'run_completed', payload: bytes }],
    ['that is disposed', { event: 'hook_disposed', correlationId: 'hook_1' }],
  ])('%s leads nowhere', async (_what, request) => {
    const { env, run, ask } = await withWebhook();
    const claim = await env.deps.hookTokens.find(scope, 'order');
    answered(await ask(run, request));
    // A crash can leave the claim behind: only the log of the run decides.
    if (claim !== undefined) await env.deps.hookTokens.claim(scope, 'order', claim, after(env.deps.clock.now(), seconds(60)));
    expect(await env.deps.hookTokens.find(scope, 'order')).toBeDefined();
    expect(await findWebhook(env.deps, scope, 'order')).toBeUndefined();
  });

  test('of a hook that is no webhook leads nowhere', async () => {
    const env = await createDevKitEnv();
    answered(await env.ask(await env.start(), { ...hook('order'), data: { token: 'order', isWebhook: false } }));
    expect(await findWebhook(env.env.deps, scope, 'order')).toBeUndefined();
  });
});

test('a request for an application that executes its runs itself is forwarded with a signature', async () => {
  const { env, app } = await withWebhook();
  const forwarded: WebhookRequest[] = [];
  const response = { status: 207, headers: {}, body: new Uint8Array([255]) };
  const apps: AppCalls = {
    post: () => Promise.reject(new Error('nothing is posted')),
    forward: async (request) => {
      forwarded.push(request);
      return { kind: 'answered', response };
    },
  };
  const bundles = {
    deliver: () => Promise.reject(new Error('no bundle is called')),
    resumeWebhook: () => Promise.reject(new Error('no bundle is called')),
  };
  const request = {
    method: 'PUT',
    url: 'https://api.test/devkit/x?a=1',
    headers: { 'x-kind': 'first' },
    body: new Uint8Array([0, 255]),
  };
  const { deps } = env;
  const call = { scope, deploymentId: app, token: 'a/b', request };
  const answer = await resumeWebhook(
    { deps, bundles, apps, known: new KnownDeployments() },
    call,
    after(deps.clock.now(), seconds(5)),
  );
  expect(answer).toEqual({ kind: 'answered', response });
  const secret = (await deps.registeredApps.app(scope, app))?.secret ?? '';
  const timestamp = String(Math.floor(deps.clock.now() / 1_000));
  const path = '/.well-known/workflow/v1/webhook/a%2Fb';
  const signature = createHmac('sha256', secret).update(`${timestamp}.PUT.${path}.`).update(request.body).digest('hex');
  expect(forwarded).toEqual([
    {
      ...request,
      url: `https://app.example.com${path}?a=1`,
      headers: { 'x-kind': 'first', 'x-stepwell-timestamp': timestamp, 'x-stepwell-signature': `v1=${signature}` },
    },
  ]);
});
