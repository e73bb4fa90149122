/**
 * Decides whether a delivery may start its attempt. A first delivery on time always may, and writes nothing. Any other delivery records
 * its start: one that is late, because recovery may have sent the job again, and one from the delay queue, which may deliver a message
 * twice at once. Of deliveries that decide at the same time, the record of one is stored, and the others yield. If an earlier delivery recorded a start but no end, its worker crashed. Repeated crashes or errors fail the attempt as lost.
 */
import { type NodeRef, nodeKey } from '../../engine/ids.ts';
import { type Deliveries, beginDelivery, noDeliveries } from '../../engine/log/deliveries.ts';
import type { Failure } from '../../engine/log/events.ts';
import type { OpenNode } from '../../engine/log/node-state.ts';
import { type Heartbeat, heartbeatStateOf, isFromWorker, mustRecordBegin } from '../../engine/log/heartbeat-timeout.ts';
import type { Instant } from '../../engine/time.ts';
import { Unavailable } from '../../ports/unavailable.ts';
import type { Decider } from '../decider.ts';
import type { RunFold } from '../run-log/read-run-fold.ts';
import {
  countEndedNodes,
  heartbeatOf,
  lostAttemptFailure,
  writeHeartbeat,
  recordCrash,
  recordAttemptError,
  readHeartbeat,
  storedHeartbeatOf,
} from '../run-log/attempt-heartbeats.ts';
import { notifyRun } from '../commit/commit-facts.ts';

export type Admission =
  /** `deliveries` are the records that the attempt's heartbeats repeat; absent for a first delivery on time */
  | { readonly kind: 'begins'; readonly deliveries?: Deliveries }
  /** by its heartbeats, another worker runs the attempt, or a newer message for it is in the queue */
  | { readonly kind: 'held_by_another' }
  /** the attempt failed as lost */
  | { readonly kind: 'ended' };

interface DeliveryFacts {
  /** number of resends of the job; 0 for the first send */
  readonly resend: number;
  readonly isRedelivered: boolean;
  /** it came from the delay queue, which may deliver the message a second time at once */
  readonly isDelayed?: boolean;
  /** two deliveries may run at once, because the log accepts the result of only one */
  readonly mayOverlap?: boolean;
  /** its message group is shared by its project, so a resent message may wait behind this one */
  readonly usesProjectGroup?: boolean;
  /** other attempts of the run that must not run at the same time, and whose workers may begin now */
  readonly rivals?: readonly OpenNode[];
}

/** @param fold fresh */
export async function admitAttempt(decider: Decider, fold: RunFold, open: OpenNode, delivery: DeliveryFacts): Promise<Admission> {
  if (mayBeginUnrecorded(open, delivery, decider.deps.clock.now())) return { kind: 'begins' };
  for (let round = 0; round < maxRounds; round += 1) {
    const admission = await tryToAdmit(decider, fold, open, delivery);
    if (admission !== 'overtaken') return admission;
  }
  return { kind: 'held_by_another' };
}

/** Each round that another worker overtakes reads a new heartbeat. */
const maxRounds = 3;

/** No other message can begin the attempt now: this one is new and on time, and from a queue with message groups. */
const mayBeginUnrecorded = (
  open: OpenNode,
  { resend, isRedelivered, isDelayed = false, rivals = [] }: DeliveryFacts,
  now: Instant,
): boolean => {
  if (isRedelivered || resend > 0) return false;
  // A wake-up only decides, and the log accepts one decision.
  return open.status === 'waiting' || (!isDelayed && rivals.length === 0 && !mustRecordBegin(open, now));
};

async function tryToAdmit(
  decider: Decider,
  fold: RunFold,
  open: OpenNode,
  { resend, isRedelivered, isDelayed = false, mayOverlap = false, usesProjectGroup = false, rivals = [] }: DeliveryFacts,
): Promise<Admission | 'overtaken'> {
  const { deps } = decider;
  const { address, expiresAt } = fold.head;
  const heartbeats = await deps.log.heartbeats(address);
  const heartbeat = heartbeatOf(open, heartbeats);
  const now = deps.clock.now();
  if (rivals.some((rival) => isHeldByWorker(rival, heartbeatOf(rival, heartbeats), now))) return { kind: 'held_by_another' };
  const hasRecentHeartbeat = heartbeat !== undefined && heartbeatStateOf(open, heartbeat, now).kind === 'within_timeout';
  // In a shared group a delivery must not yield to a newer message, which waits behind it: then neither would ever start.
  const isOwnMessage =
    heartbeat !== undefined &&
    !isFromWorker(heartbeat) &&
    // Another copy of a first, delayed message wrote the record. Its worker may have released the attempt: the collector has the result.
    (!isDelayed || isRedelivered || resend > 0) &&
    (usesProjectGroup || heartbeat.resends <= resend) &&
    heartbeat.deliveries?.lost.at(-1)?.noticedAt !== heartbeat.at;
  if (hasRecentHeartbeat && !isOwnMessage && (!mayOverlap || heartbeat.deliveries !== undefined))
    return { kind: 'held_by_another' };
  const known = heartbeat?.deliveries ?? noDeliveries;
  const isUnrecorded = isRedelivered && known.isReleased !== true;
  const isLost = known.begun === undefined ? isUnrecorded : !(hasRecentHeartbeat && isFromWorker(heartbeat));
  const deliveries = isLost ? await recordCrash(decider, fold, open, known, now) : known;
  const failure = await lostAttemptFailure(deps, fold, deliveries, now);
  if (failure !== undefined) {
    await failAsLost(decider, fold, open, failure);
    return { kind: 'ended' };
  }
  const resends = Math.max(resend, heartbeat?.resends ?? 0);
  const begun = beginDelivery(deliveries, now, countEndedNodes(decider, fold), resends);
  const record = { node: nodeKey(open), attempt: open.attempt, at: now, resends, deliveries: begun };
  // Another worker that read the same heartbeat may have begun meanwhile, or recovery may have sent the job again.
  const isStored = await deps.log.replaceHeartbeat(address, storedHeartbeatOf(open, heartbeats), record, expiresAt);
  return isStored ? { kind: 'begins', deliveries: begun } : 'overtaken';
}

/** By its heartbeat, a worker runs the attempt. */
const isHeldByWorker = (open: OpenNode, heartbeat: Heartbeat | undefined, now: Instant): boolean =>
  heartbeat !== undefined && isFromWorker(heartbeat) && heartbeatStateOf(open, heartbeat, now).kind === 'within_timeout';

/** Calls `act`, and records an error that it throws. */
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
 * Records that the message of an attempt reached the dead-letter queue. A worker that recorded its start has crashed. Deliveries without
 * a record do not count against the attempt: SQS also counts deliveries that Lambda throttled, and those ran nothing. The fold must be
 * fresh.
 */
export async function recordDeadLetter(decider: Decider, fold: RunFold, open: OpenNode): Promise<void> {
  const { deps } = decider;
  const heartbeat = await readHeartbeat(deps, fold, open);
  const now = deps.clock.now();
  // A worker with a recent heartbeat runs the attempt from another message.
  if (isHeldByWorker(open, heartbeat, now)) return;
  const known = heartbeat?.deliveries ?? noDeliveries;
  // Earlier crashes are already recorded.
  if (known.begun === undefined) return;
  const deliveries = await recordCrash(decider, fold, open, known, now);
  const failure = await lostAttemptFailure(deps, fold, deliveries, now);
  if (failure !== undefined) return failAsLost(decider, fold, open, failure);
  await writeHeartbeat(deps, fold, open, { at: now, resends: heartbeat?.resends ?? 0, deliveries });
}

async function failAsLost(decider: Decider, fold: RunFold, open: OpenNode, failure: Failure): Promise<void> {
  const node: NodeRef = { nodeId: open.nodeId, iteration: open.iteration };
  await notifyRun(decider, fold, [{ kind: 'node-lost', node, attempt: open.attempt, failure }]);
}

/** If the store is unavailable, a later delivery records the error when it occurs again. The caller rethrows the error itself. */
async function failIfLost(
  decider: Decider,
  fold: RunFold,
  open: OpenNode,
  thrown: unknown,
  admitted?: Deliveries,
): Promise<void> {
  // The run does not exist yet. Its start continues with it.
  if (fold.state.asOf === 0) return;
  try {
    const failure = await recordAttemptError(decider, fold, open, thrown, admitted);
    if (failure !== undefined) await failAsLost(decider, fold, open, failure);
  } catch (recordingError) {
    if (!(recordingError instanceof Unavailable)) throw recordingError;
  }
}
