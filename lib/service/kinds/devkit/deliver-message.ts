/**
 * Delivers a message of the Workflow DevKit to the application that executes its run. The queue deletes the message after the answer;
 * a message that the application could not process is sent again as its next attempt.
 */
import { backoffMs } from '../../../base/retry.ts';
import { attempt } from '../../../engine/ids.ts';
import { isJsonObject } from '../../../engine/json.ts';
import { durationMs, seconds } from '../../../engine/time.ts';
import type { AppResponse } from '../../../ports/devkit.ts';
import type { DevKitJob } from '../../../ports/jobs.ts';
import { Unavailable } from '../../../ports/unavailable.ts';
import { sendJobAt } from '../../commit/schedule-message.ts';
import type { Deps } from '../../deps.ts';
import type { Delivery, DevKitDeliverer } from '../../worker.ts';
import { withHeartbeats } from './delivery-heartbeats.ts';
import { failRun } from './fail-run.ts';
import { newMessageId } from './jobs.ts';
import { sendMessage } from './queued-message.ts';
import { type Delivered, sendDelivery } from './send-delivery.ts';

/** The Workflow DevKit gives a message up at its 49th delivery, and then ends the run itself. */
export const maxDevKitDeliveries = 60;
const maxBackoff = seconds(900);

export async function deliverDevKitMessage(deliverer: DevKitDeliverer, job: DevKitJob, delivery: Delivery): Promise<void> {
  const { deps } = deliverer;
  const now = deps.clock.now();
  // A delayed message may come early. The queue drops it if it is sent again with the deduplication that it came with.
  if (job.notBefore !== undefined && job.notBefore > now)
    return sendJobAt(deps, job.notBefore, { ...job, deduplication: `${job.messageId}@${now}` });
  const number = job.attempt + (delivery.receives ?? 1) - 1;
  const deliver = (): Promise<Delivered> => sendDelivery(deliverer, job, number, delivery.mustEndAt).catch(undelivered);
  await settle(deliverer, job, number, await withHeartbeats(deps, job, deliver));
}

/** The queue would deliver it again only after its visibility timeout, and block the other messages of the run until then. */
function undelivered(error: unknown): Delivered {
  if (!(error instanceof Unavailable)) throw error;
  return { kind: 'failed', reason: error.message };
}

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
