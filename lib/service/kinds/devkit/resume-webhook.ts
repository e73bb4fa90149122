/** Resumes a webhook where the code of its run is executed: on a thread of this process, or at the address of an application. */
import { createHmac } from 'node:crypto';
import type { Instant } from '../../../engine/time.ts';
import type { RegisteredApp, WebhookAnswer, WebhookCall } from '../../../ports/devkit.ts';
import type { DevKitDeliverer } from '../../worker.ts';
import { registeredApp } from './register-app.ts';

type Resumer = Pick<DevKitDeliverer, 'deps' | 'bundles' | 'apps' | 'known'>;

export async function resumeWebhook(resumer: Resumer, call: WebhookCall, endsAt: Instant): Promise<WebhookAnswer> {
  const { scope, deploymentId, token, request } = call;
  const { deps, bundles, known } = resumer;
  const app = await registeredApp(deps, scope, deploymentId);
  if (app !== undefined) return forward(resumer, app, call, endsAt);
  const manifest = await known.manifest(deps.deployments, scope, deploymentId);
  if (manifest === undefined) return { kind: 'failed', reason: `no deployment is named ${deploymentId}` };
  const limits = { endsAt, signal: new AbortController().signal };
  const result = await bundles.resumeWebhook(scope, manifest, { token, request }, limits);
  switch (result.kind) {
    case 'answered':
    case 'no_hook':
      return result;
    case 'timed_out':
      return { kind: 'failed', reason: 'the workflow sent no response in time' };
    case 'crashed':
    case 'unloadable':
      return { kind: 'failed', reason: result.message };
  }
}

/** The SDK of the application serves this path. Its own code can check the signature. */
async function forward(
  { deps, apps }: Resumer,
  { baseUrl, secret }: RegisteredApp,
  { token, request }: WebhookCall,
  endsAt: Instant,
): Promise<WebhookAnswer> {
  const path = `/.well-known/workflow/v1/webhook/${encodeURIComponent(token)}`;
  const timestamp = String(Math.floor(deps.clock.now() / 1_000));
  const hmac = createHmac('sha256', secret).update(`${timestamp}.${request.method}.${path}.`).update(request.body);
  const headers = {
    ...request.headers,
    'x-stepwell-timestamp': timestamp,
    'x-stepwell-signature': `v1=${hmac.digest('hex')}`,
  };
  const url = `${baseUrl}${path}${new URL(request.url).search}`;
  return apps.forward({ ...request, url, headers }, { endsAt });
}
