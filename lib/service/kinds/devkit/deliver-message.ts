/**
 * Delivers a message of the Workflow DevKit to the application that executes its run. The queue deletes the message after the answer;
 * a message that the application could not process is sent again as its next attempt.
 */
import { createHmac } from 'node:crypto';
import { backoffMs } from '../../../base/retry.ts';
import { defined } from '../../../base/defined.ts';
import { laneOf } from '../../../engine/bundle/message.ts';
import { deliveryKey } from '../../../engine/devkit/next-look.ts';
import { attempt } from '../../../engine/ids.ts';
import { type JsonValue, isJsonObject } from '../../../engine/json.ts';
import { type DurationMs, type Instant, durationMs, instant, seconds } from '../../../engine/time.ts';
import type { BundleResult } from '../../../ports/bundles.ts';
import type { AppResponse, RegisteredApp } from '../../../ports/devkit.ts';
import type { DevKitJob } from '../../../ports/jobs.ts';
import { Unavailable } from '../../../ports/unavailable.ts';
import { sendJobAt } from '../../commit/schedule-message.ts';
import type { Deps } from '../../deps.ts';
import { loadPayload } from '../../run-log/payloads.ts';
import type { Delivery, DevKitDeliverer } from '../../worker.ts';
import { failRun } from './fail-run.ts';
import { newMessageId } from './jobs.ts';
import { sendMessage } from './queued-message.ts';

/** The Workflow DevKit gives a message up at its 49th delivery, and then ends the run itself. */
export const maxDevKitDeliveries = 60;
/** Time reserved at the end of an invocation for what follows the delivery. */
const reserve = seconds(5);
/** A shorter delivery sends no heartbeat: the sweep waits longer than this. */
const heartbeatInterval = seconds(30);
const maxBackoff = seconds(900);

export async function deliverDevKitMessage(deliverer: DevKitDeliverer, job: DevKitJob, delivery: Delivery): Promise<void> {
  const { deps } = deliverer;
  // A delayed message may come early.
  if (job.notBefore !== undefined && job.notBefore > deps.clock.now()) return sendJobAt(deps, job.notBefore, job);
  const number = job.attempt + (delivery.receives ?? 1) - 1;
  const app = await deps.registeredApps.app(job.run, job.deploymentId);
  const deliver = (): Promise<Delivered> =>
    app === undefined
      ? runBundle(deliverer, job, number, delivery.mustEndAt)
      : post(deliverer, app, job, number, delivery.mustEndAt);
  await settle(deliverer, job, number, await withHeartbeats(deps, job, deliver));
}

/** `unloadable`: no other delivery can succeed */
type Delivered = AppResponse | Extract<BundleResult, { readonly kind: 'unloadable' }>;

async function settle(deliverer: DevKitDeliverer, job: DevKitJob, number: number, response: Delivered): Promise<void> {
  const { deps } = deliverer;
  if (response.kind === 'unloadable') return failRun(deliverer, job, response.message);
  const body = response.kind === 'responded' && response.status === ok ? response.body : undefined;
  const requestedSeconds = isJsonObject(body) ? body['timeoutSeconds'] : undefined;
  if (typeof requestedSeconds === 'number' && requestedSeconds >= 0) {
    const { notBefore: _past, ...again } = job;
    const messageId = newMessageId(deps);
    // A new message: its attempts count from the first again.
    const fresh: DevKitJob = { ...again, messageId, deduplication: messageId, attempt: attempt(1) };
    return sendMessage(deps, fresh, durationMs(Math.min(requestedSeconds, maxDelaySeconds) * 1_000));
  }
  if (response.kind === 'responded' && response.status >= ok && response.status < redirect) return;
  if (number >= maxDevKitDeliveries) return failRun(deliverer, job, reasonOf(response));
  return retry(deps, job, number);
}

const ok = 200;
const redirect = 300;
/** A year: no run lasts longer. */
const maxDelaySeconds = 31_536_000;

const reasonOf = (response: AppResponse): string =>
  response.kind === 'failed' ? response.reason : `the application responded with status ${response.status}`;

/** 1, 2, 4 … seconds, at most 15 minutes. A part is random, so that messages that failed together are not repeated together. */
async function retry(deps: Deps, { notBefore: _past, ...job }: DevKitJob, number: number): Promise<void> {
  const wait = backoffMs({ baseMs: 1_000, maxMs: maxBackoff, jitter: 0.25 }, number, deps.ids.random());
  const next: DevKitJob = { ...job, attempt: attempt(number + 1), deduplication: `${job.messageId}#${number + 1}` };
  await sendMessage(deps, next, durationMs(Math.floor(wait)));
}

/** Runs the bundle of the deployment on a thread of this process. */
async function runBundle(
  { deps, bundles }: DevKitDeliverer,
  job: DevKitJob,
  number: number,
  mustEndAt: Instant,
): Promise<Delivered> {
  const { run, deploymentId, queueName, message } = job;
  const deployment = await deps.deployments.deployment(run, deploymentId);
  if (deployment === undefined)
    return { kind: 'unloadable', message: `no deployment and no registered application is named ${deploymentId}` };
  const body: JsonValue = 'ref' in message ? await loadPayload(deps, run, message.ref) : message.value;
  const request = { queueName, headers: { ...headersOf(job, number), 'x-workflow-run-id': run.runId }, body };
  const limits = { endsAt: instant(mustEndAt - reserve), signal: new AbortController().signal };
  const result = await bundles.deliver(run, deployment.manifest, request, limits);
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

/** Shows the sweep that a delivery of the run is in flight. */
async function withHeartbeats<Result>(
  deps: Pick<Deps, 'clock' | 'log'>,
  { run, creation }: DevKitJob,
  deliver: () => Promise<Result>,
): Promise<Result> {
  const done = new AbortController();
  const sending = creation === undefined ? undefined : sendHeartbeats(deps, run, creation.expiresAt, done.signal);
  try {
    return await deliver();
  } finally {
    done.abort();
    await sending;
  }
}

async function sendHeartbeats(
  { clock, log }: Pick<Deps, 'clock' | 'log'>,
  run: DevKitJob['run'],
  expiresAt: Instant,
  done: AbortSignal,
): Promise<void> {
  const wait: DurationMs = heartbeatInterval;
  for (;;) {
    await clock.sleep(wait, done);
    if (done.aborted) return;
    try {
      await log.heartbeat(run, { node: deliveryKey, at: clock.now(), resends: 0 }, expiresAt);
    } catch (error) {
      // A missed heartbeat causes a message too many at worst.
      if (!(error instanceof Unavailable)) throw error;
    }
  }
}
