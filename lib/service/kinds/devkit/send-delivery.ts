/** Sends a message of the Workflow DevKit to an application's address, or to the bundle of a deployment on a thread of this process. */
import { createHmac } from 'node:crypto';
import { defined } from '../../../base/defined.ts';
import { laneOf } from '../../../engine/bundle/message.ts';
import type { JsonValue } from '../../../engine/json.ts';
import { type Instant, instant, seconds } from '../../../engine/time.ts';
import type { BundleResult } from '../../../ports/bundles.ts';
import type { AppResponse, RegisteredApp } from '../../../ports/devkit.ts';
import type { DevKitJob } from '../../../ports/jobs.ts';
import { loadPayload } from '../../run-log/payloads.ts';
import type { DevKitDeliverer } from '../../worker.ts';
import { registeredApp } from './register-app.ts';

/** Time reserved at the end of an invocation for what follows the delivery. */
const reserve = seconds(5);

/** `unloadable`: no other delivery can succeed */
export type Delivered = AppResponse | Extract<BundleResult, { readonly kind: 'unloadable' }>;

export async function sendDelivery(
  deliverer: DevKitDeliverer,
  job: DevKitJob,
  number: number,
  mustEndAt: Instant,
): Promise<Delivered> {
  const app = await registeredApp(deliverer.deps, job.run, job.deploymentId);
  return app === undefined ? runBundle(deliverer, job, number, mustEndAt) : post(deliverer, app, job, number, mustEndAt);
}

/** Runs the bundle of the deployment on a thread of this process. */
async function runBundle(
  { deps, bundles, known }: DevKitDeliverer,
  job: DevKitJob,
  number: number,
  mustEndAt: Instant,
): Promise<Delivered> {
  const { run, deploymentId, queueName, message } = job;
  const manifest = await known.manifest(deps.deployments, run, deploymentId);
  if (manifest === undefined)
    return { kind: 'unloadable', message: `no deployment and no registered application is named ${deploymentId}` };
  const body: JsonValue = 'ref' in message ? await loadPayload(deps, run, message.ref) : message.value;
  const request = { queueName, headers: { ...headersOf(job, number), 'x-workflow-run-id': run.runId }, body };
  const limits = { endsAt: instant(mustEndAt - reserve), signal: new AbortController().signal };
  const result = await bundles.deliver(run, manifest, request, limits);
  if (result.kind === 'crashed') return { kind: 'failed', reason: result.message };
  return result.kind === 'timed_out' ? { kind: 'failed', reason: 'the code took longer than the function may run' } : result;
}

const headersOf = ({ queueName, messageId, trace }: DevKitJob, number: number): Readonly<Record<string, string>> =>
  defined({
    'content-type': 'application/json',
    'x-vqs-queue-name': queueName,
    'x-vqs-message-id': messageId,
    'x-vqs-message-attempt': String(number),
    traceparent: trace?.traceparent,
  });

async function post(
  { deps, apps }: DevKitDeliverer,
  { baseUrl, secret }: RegisteredApp,
  job: DevKitJob,
  number: number,
  mustEndAt: Instant,
): Promise<AppResponse> {
  const { message, run, queueName, messageId } = job;
  const value: JsonValue = 'ref' in message ? await loadPayload(deps, run, message.ref) : message.value;
  const body = JSON.stringify(value);
  const endpoint = laneOf(queueName) === 'step' ? 'step' : 'flow';
  const timestamp = String(Math.floor(deps.clock.now() / 1_000));
  const signed = `${timestamp}.${queueName}.${messageId}.${number}.${body}`;
  const headers = {
    ...headersOf(job, number),
    'x-stepwell-timestamp': timestamp,
    'x-stepwell-signature': `v1=${createHmac('sha256', secret).update(signed).digest('hex')}`,
  };
  const url = `${baseUrl}/.well-known/workflow/v1/${endpoint}`;
  return apps.post({ url, headers, body }, { endsAt: instant(mustEndAt - reserve) });
}
