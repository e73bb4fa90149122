/**
 * Whether a delivery may begin its attempt. A first delivery always may, and pays nothing. A later one records that it begins; where an
 * earlier one recorded that too and is gone, its worker died, and an attempt whose workers die or throw again and again ends as lost.
 */
import type { NodeRef } from '../engine/ids.ts';
import { type Deliveries, begins, noDeliveries } from '../engine/log/deliveries.ts';
import type { Failure } from '../engine/log/events.ts';
import type { OpenNode } from '../engine/log/node-state.ts';
import { isOfWorker, silenceOf } from '../engine/log/silence.ts';
import { Unavailable } from '../ports/unavailable.ts';
import type { Decider } from './decide-run.ts';
import type { RunFold } from './read-log.ts';
import { endedNodes, failureOf, keep, lose, recordThrow, signOf } from './record-deliveries.ts';
import { tellRun } from './tell-run.ts';

export type Admission =
  /** `deliveries` is what its heartbeats carry; absent for a first delivery */
  | { readonly kind: 'begins'; readonly deliveries?: Deliveries }
  /** another worker is at it, or a newer message of it is on its way, as far as its heartbeats say */
  | { readonly kind: 'with_another' }
  /** it has ended as lost */
  | { readonly kind: 'ended' };

interface Delivered {
  /** how often its job had been sent again; 0 for the first send */
  readonly resend: number;
  readonly isRedelivered: boolean;
  /** beside a first delivery another may be at work: the log parts them */
  readonly mayOverlap?: true;
  /** its message group is one of its project's, so that one that was sent again meanwhile may wait behind it */
  readonly isOfProject?: boolean;
}

/** @param fold fresh */
export async function admitAttempt(
  decider: Decider,
  fold: RunFold,
  open: OpenNode,
  { resend, isRedelivered, mayOverlap, isOfProject = false }: Delivered,
): Promise<Admission> {
  if (!isRedelivered && resend === 0) return { kind: 'begins' };
  const { deps } = decider;
  const sign = await signOf(deps, fold, open);
  const now = deps.clock.now();
  const isYoung = sign !== undefined && silenceOf(open, sign, now).kind === 'young';
  // Left to a newer one, no job of a group that takes longer than the sweep waits would begin.
  const isOwn =
    sign !== undefined &&
    !isOfWorker(sign) &&
    (isOfProject || sign.resends <= resend) &&
    sign.deliveries?.lost.at(-1)?.noticedAt !== sign.at;
  if (isYoung && !isOwn && (mayOverlap !== true || sign.deliveries !== undefined)) return { kind: 'with_another' };
  const known = sign?.deliveries ?? noDeliveries;
  const isUnknown = isRedelivered && known.isReleased !== true;
  const isLost = known.begun === undefined ? isUnknown : !(isYoung && isOfWorker(sign));
  const deliveries = isLost ? await lose(deps, fold, open, known, now) : known;
  const failure = await failureOf(deps, fold, deliveries, now);
  if (failure !== undefined) {
    await endAsLost(decider, fold, open, failure);
    return { kind: 'ended' };
  }
  const resends = Math.max(resend, sign?.resends ?? 0);
  const begun = begins(deliveries, now, endedNodes(fold), resends);
  await keep(deps, fold, open, { at: now, resends, deliveries: begun });
  return { kind: 'begins', deliveries: begun };
}

/** Does it, and records what it throws. */
export async function recordingThrows<Answer>(
  decider: Decider,
  fold: RunFold,
  open: OpenNode,
  act: () => Promise<Answer>,
  own?: Deliveries,
): Promise<Answer> {
  try {
    return await act();
  } catch (thrown) {
    await endIfLost(decider, fold, open, thrown, own);
    throw thrown;
  }
}

/**
 * The message of an attempt reached the dead-letter queue. A worker that recorded its begin is dead. Deliveries that recorded nothing say
 * nothing of the attempt: Lambda counts a delivery that it throttled, and then nothing ran. The fold must be fresh.
 */
export async function recordDeadLetter(decider: Decider, fold: RunFold, open: OpenNode): Promise<void> {
  const { deps } = decider;
  const sign = await signOf(deps, fold, open);
  const now = deps.clock.now();
  // A worker at work has the attempt by another message.
  if (sign !== undefined && isOfWorker(sign) && silenceOf(open, sign, now).kind === 'young') return;
  const known = sign?.deliveries ?? noDeliveries;
  // The deaths before the last one are on record one by one.
  if (known.begun === undefined) return;
  const deliveries = await lose(deps, fold, open, known, now);
  const failure = await failureOf(deps, fold, deliveries, now);
  if (failure !== undefined) return endAsLost(decider, fold, open, failure);
  await keep(deps, fold, open, { at: now, resends: sign?.resends ?? 0, deliveries });
}

async function endAsLost(decider: Decider, fold: RunFold, open: OpenNode, failure: Failure): Promise<void> {
  const node: NodeRef = { nodeId: open.nodeId, iteration: open.iteration };
  await tellRun(decider, fold, [{ kind: 'node-lost', node, attempt: open.attempt, failure }]);
}

/** What cannot be recorded now is recorded when it is thrown again: the caller reports what was thrown itself. */
async function endIfLost(decider: Decider, fold: RunFold, open: OpenNode, thrown: unknown, own?: Deliveries): Promise<void> {
  try {
    const failure = await recordThrow(decider.deps, fold, open, thrown, own);
    if (failure !== undefined) await endAsLost(decider, fold, open, failure);
  } catch (unrecorded) {
    if (!(unrecorded instanceof Unavailable)) throw unrecorded;
  }
}
