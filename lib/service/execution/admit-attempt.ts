/**
 * Whether a delivery may begin its attempt. A first delivery always may, and pays nothing. A later one records that it begins; where an
 * earlier one recorded that too and is gone, its worker died, and an attempt whose workers die or throw again and again ends as lost.
 */
import type { NodeRef } from '../../engine/ids.ts';
import { type Deliveries, beginDelivery, noDeliveries } from '../../engine/log/deliveries.ts';
import type { Failure } from '../../engine/log/events.ts';
import type { OpenNode } from '../../engine/log/node-state.ts';
import { isFromWorker, heartbeatStateOf } from '../../engine/log/heartbeat-timeout.ts';
import { Unavailable } from '../../ports/unavailable.ts';
import type { Decider } from '../commit/decide-run.ts';
import type { RunFold } from '../run-log/read-run-fold.ts';
import {
  countEndedNodes,
  lostAttemptFailure,
  writeHeartbeat,
  recordCrash,
  recordAttemptError,
  readHeartbeat,
} from '../run-log/attempt-heartbeats.ts';
import { notifyRun } from '../commit/notify-run.ts';

export type Admission =
  /** `deliveries` is what its heartbeats carry; absent for a first delivery */
  | { readonly kind: 'begins'; readonly deliveries?: Deliveries }
  /** another worker is at it, or a newer message of it is on its way, as far as its heartbeats say */
  | { readonly kind: 'held_by_another' }
  /** it has ended as lost */
  | { readonly kind: 'ended' };

interface DeliveryFacts {
  /** how often its job had been sent again; 0 for the first send */
  readonly resend: number;
  readonly isRedelivered: boolean;
  /** beside a first delivery another may be at work: the log parts them */
  readonly mayOverlap?: true;
  /** its message group is one of its project's, so that one that was sent again meanwhile may wait behind it */
  readonly usesProjectGroup?: boolean;
}

/** @param fold fresh */
export async function admitAttempt(
  decider: Decider,
  fold: RunFold,
  open: OpenNode,
  { resend, isRedelivered, mayOverlap, usesProjectGroup = false }: DeliveryFacts,
): Promise<Admission> {
  if (!isRedelivered && resend === 0) return { kind: 'begins' };
  const { deps } = decider;
  const heartbeat = await readHeartbeat(deps, fold, open);
  const now = deps.clock.now();
  const hasRecentHeartbeat = heartbeat !== undefined && heartbeatStateOf(open, heartbeat, now).kind === 'within_timeout';
  // Left to a newer one, no job of a group that takes longer than the sweep waits would begin.
  const isOwnMessage =
    heartbeat !== undefined &&
    !isFromWorker(heartbeat) &&
    (usesProjectGroup || heartbeat.resends <= resend) &&
    heartbeat.deliveries?.lost.at(-1)?.noticedAt !== heartbeat.at;
  if (hasRecentHeartbeat && !isOwnMessage && (mayOverlap !== true || heartbeat.deliveries !== undefined))
    return { kind: 'held_by_another' };
  const known = heartbeat?.deliveries ?? noDeliveries;
  const isUnrecorded = isRedelivered && known.isReleased !== true;
  const isLost = known.begun === undefined ? isUnrecorded : !(hasRecentHeartbeat && isFromWorker(heartbeat));
  const deliveries = isLost ? await recordCrash(deps, fold, open, known, now) : known;
  const failure = await lostAttemptFailure(deps, fold, deliveries, now);
  if (failure !== undefined) {
    await failAsLost(decider, fold, open, failure);
    return { kind: 'ended' };
  }
  const resends = Math.max(resend, heartbeat?.resends ?? 0);
  const begun = beginDelivery(deliveries, now, countEndedNodes(fold), resends);
  await writeHeartbeat(deps, fold, open, { at: now, resends, deliveries: begun });
  return { kind: 'begins', deliveries: begun };
}

/** Does it, and records what it throws. */
export async function recordingAttemptErrors<Result>(
  decider: Decider,
  fold: RunFold,
  open: OpenNode,
  act: () => Promise<Result>,
  admitted?: Deliveries,
): Promise<Result> {
  try {
    return await act();
  } catch (thrown) {
    await failIfLost(decider, fold, open, thrown, admitted);
    throw thrown;
  }
}

/**
 * The message of an attempt reached the dead-letter queue. A worker that recorded its begin is dead. Deliveries that recorded nothing say
 * nothing of the attempt: Lambda counts a delivery that it throttled, and then nothing ran. The fold must be fresh.
 */
export async function recordDeadLetter(decider: Decider, fold: RunFold, open: OpenNode): Promise<void> {
  const { deps } = decider;
  const heartbeat = await readHeartbeat(deps, fold, open);
  const now = deps.clock.now();
  // A worker at work has the attempt by another message.
  if (heartbeat !== undefined && isFromWorker(heartbeat) && heartbeatStateOf(open, heartbeat, now).kind === 'within_timeout')
    return;
  const known = heartbeat?.deliveries ?? noDeliveries;
  // The deaths before the last one are on record one by one.
  if (known.begun === undefined) return;
  const deliveries = await recordCrash(deps, fold, open, known, now);
  const failure = await lostAttemptFailure(deps, fold, deliveries, now);
  if (failure !== undefined) return failAsLost(decider, fold, open, failure);
  await writeHeartbeat(deps, fold, open, { at: now, resends: heartbeat?.resends ?? 0, deliveries });
}

async function failAsLost(decider: Decider, fold: RunFold, open: OpenNode, failure: Failure): Promise<void> {
  const node: NodeRef = { nodeId: open.nodeId, iteration: open.iteration };
  await notifyRun(decider, fold, [{ kind: 'node-lost', node, attempt: open.attempt, failure }]);
}

/** What cannot be recorded now is recorded when it is thrown again: the caller reports what was thrown itself. */
async function failIfLost(
  decider: Decider,
  fold: RunFold,
  open: OpenNode,
  thrown: unknown,
  admitted?: Deliveries,
): Promise<void> {
  try {
    const failure = await recordAttemptError(decider.deps, fold, open, thrown, admitted);
    if (failure !== undefined) await failAsLost(decider, fold, open, failure);
  } catch (recordingError) {
    if (!(recordingError instanceof Unavailable)) throw recordingError;
  }
}
