/** The label by which lists find an open run: it retries, or it waits. Most runs have neither for long. */
import { firstAttempt } from '../ids.ts';
import type { Instant } from '../time.ts';
import { type RunState, openNodes, isWaitingForSlot } from './fold.ts';
import type { HeadProjection } from './head.ts';

export function attentionOf(state: RunState, now: Instant): HeadProjection['attention'] {
  if (isWaitingForSlot(state)) return 'waiting';
  const open = openNodes(state);
  if (open.some((node) => node.attempt > firstAttempt)) return 'retrying';
  const isWaiting = open.every(
    (node) => node.status === 'waiting' || (node.status === 'queued' && (node.notBefore ?? now) > now),
  );
  return open.length > 0 && isWaiting ? 'waiting' : undefined;
}
