/** Messages of the Workflow DevKit on their queue: a large one waits in the bucket, a later one in a delay or a timer. */
import { createHash } from 'node:crypto';
import { type JsonValue, type Payload, inline } from '../../../engine/json.ts';
import type { DevKitHead } from '../../../engine/log/head.ts';
import { type DurationMs, after } from '../../../engine/time.ts';
import type { DevKitJob } from '../../../ports/jobs.ts';
import { sendJobAt } from '../../commit/schedule-message.ts';
import type { Deps } from '../../deps.ts';
import { blobPrefixOf } from '../../run-log/payloads.ts';

/** SQS takes 256 KB; the rest is for what the run was created from. */
export const maxQueuedMessageBytes = 200_000;

/** Sends the message now or after a delay. */
export async function sendMessage(
  deps: Pick<Deps, 'clock' | 'jobs' | 'timers'>,
  job: DevKitJob,
  delay: DurationMs | undefined,
): Promise<void> {
  if (delay === undefined || delay <= 0) return deps.jobs.send([job]);
  const notBefore = after(deps.clock.now(), delay);
  return sendJobAt(deps, notBefore, { ...job, notBefore });
}

type MessageOwner = Pick<DevKitHead, 'address' | 'expiresAt' | 'kind'>;

export async function offloadMessage(deps: Pick<Deps, 'blobs'>, head: MessageOwner, message: JsonValue): Promise<Payload> {
  const text = JSON.stringify(message);
  if (escapedBytes(text) <= maxQueuedMessageBytes) return inline(message);
  const key = `${blobPrefixOf(head)}message-${createHash('sha256').update(text).digest('hex')}`;
  await deps.blobs.put(head.address, key, message, head.expiresAt);
  return { ref: `blob:${key}`, bytes: Buffer.byteLength(text) };
}

/** The bodies of messages escape characters beyond U+FFFF: two units of six bytes each. */
const escapedBytes = (text: string): number => Buffer.byteLength(text.replaceAll(/[\ud800-\udfff]/g, '______'));
