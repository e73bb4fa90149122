/**
 * Reads and writes the heartbeat item of an attempt, which records the attempt's deliveries. `engine/log/deliveries.ts` decides what
 * follows from these records; `admit-attempt.ts` acts on it.
 */
import { defined } from '../../base/defined.ts';
import type { RetryLimits } from '../../base/retry.ts';
import { type NodeRef, nodeKey } from '../../engine/ids.ts';
import {
  type Deliveries,
  recordHeartbeat,
  firstHeartbeatAt,
  loseDelivery,
  failureIfLost,
  needsOtherCrashes,
  noDeliveries,
  releaseDelivery,
} from '../../engine/log/deliveries.ts';
import type { Failure } from '../../engine/log/events.ts';
import type { Head } from '../../engine/log/head.ts';
import { type Heartbeat, belongsToAttempt } from '../../engine/log/heartbeat-timeout.ts';
import type { OpenNode } from '../../engine/log/node-state.ts';
import type { Instant } from '../../engine/time.ts';
import { Unavailable } from '../../ports/unavailable.ts';
import { type Decider, kindOf } from '../decider.ts';
import type { Deps } from '../deps.ts';
import type { RunFold } from './read-run-fold.ts';
import { retryUnavailable, throttlingLimits } from './retry-unavailable.ts';

/**
 * Records that the worker of this attempt is alive.
 * @param deliveries the delivery records from its admission; absent for the first delivery
 * @param startedAt the start of the attempt, if no commit records it
 */
export async function sendHeartbeat(
  { clock, log }: Pick<Deps, 'clock' | 'log'>,
  head: Pick<Head, 'address' | 'expiresAt'>,
  node: NodeRef & Pick<OpenNode, 'attempt'>,
  deliveries: Deliveries | undefined,
  startedAt?: Instant,
): Promise<void> {
  const now = clock.now();
  const known = defined({
    attempt: deliveries === undefined && startedAt === undefined ? undefined : node.attempt,
    deliveries: deliveries === undefined ? undefined : recordHeartbeat(deliveries, now),
    startedAt,
  });
  const resends = deliveries?.begun?.resends ?? 0;
  await log.heartbeat(head.address, { node: nodeKey(node), at: now, resends, ...known }, head.expiresAt);
}

/**
 * Records an error that a worker threw in an attempt, or in a decision about a waiting node. Repeated errors end the attempt.
 * The queue redelivers the message in either case. `Unavailable` is not an error of the attempt, so it is not recorded.
 * @param admitted the delivery records from the admission; absent when another delivery wrote the stored records
 * @returns the failure that ends the attempt now; the caller commits it
 */
export async function recordAttemptError(
  decider: HeartbeatDecider<'clock' | 'log' | 'index'>,
  fold: RunFold,
  open: OpenNode,
  thrown: unknown,
  admitted?: Deliveries,
): Promise<Failure | undefined> {
  const { deps } = decider;
  if (thrown instanceof Unavailable) {
    await releaseAttempt(deps, fold, open, admitted);
    return undefined;
  }
  const heartbeat = await readHeartbeat(deps, fold, open);
  const now = deps.clock.now();
  const reason = thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : String(thrown);
  const deliveries = loseDelivery(admitted ?? heartbeat?.deliveries ?? noDeliveries, now, countEndedNodes(decider, fold), reason);
  const failure = await lostAttemptFailure(deps, fold, deliveries, now);
  if (failure === undefined) await writeHeartbeat(deps, fold, open, { at: now, resends: heartbeat?.resends ?? 0, deliveries });
  return failure;
}

/** 3.5 seconds in total: less than the time that an invocation reserves for its last writes. */
const releaseLimits: RetryLimits = { ...throttlingLimits, attempts: 4 };

/**
 * Records that the worker stops this attempt but did not crash. Without this record the next delivery counts a crash. A first
 * delivery recorded no start, so the worker writes nothing for it. If the store is unavailable for seconds, the next delivery counts
 * one crash that did not happen. A single crash never ends an attempt.
 */
export async function releaseAttempt(
  { clock, log }: Pick<Deps, 'clock' | 'log'>,
  fold: RunFold,
  open: OpenNode,
  admitted: Deliveries | undefined,
): Promise<void> {
  const begunAt = admitted?.begun?.at;
  if (begunAt === undefined) return;
  const record = async (): Promise<void> => {
    const heartbeat = await readHeartbeat({ log }, fold, open);
    // Another worker may have started the attempt since.
    if (heartbeat?.deliveries?.begun?.at !== begunAt) return;
    await writeHeartbeat({ log }, fold, open, {
      at: clock.now(),
      resends: heartbeat.resends,
      deliveries: releaseDelivery(heartbeat.deliveries),
    });
  };
  try {
    await retryUnavailable(clock, record, releaseLimits);
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error;
  }
}

export async function readHeartbeat(
  { log }: Pick<Deps, 'log'>,
  { head }: RunFold,
  open: OpenNode,
): Promise<Heartbeat | undefined> {
  return heartbeatOf(open, await log.heartbeats(head.address));
}

/** The heartbeat of the attempt, among the heartbeats of its run. */
export function heartbeatOf(open: OpenNode, heartbeats: readonly Heartbeat[]): Heartbeat | undefined {
  const heartbeat = storedHeartbeatOf(open, heartbeats);
  return heartbeat !== undefined && belongsToAttempt(heartbeat, open) ? heartbeat : undefined;
}

/** The stored heartbeat of the node, also of an earlier attempt. */
export const storedHeartbeatOf = (node: NodeRef, heartbeats: readonly Heartbeat[]): Heartbeat | undefined =>
  heartbeats.find((each) => each.node === nodeKey(node));

export const writeHeartbeat = (
  { log }: Pick<Deps, 'log'>,
  { head }: RunFold,
  open: OpenNode,
  heartbeat: Omit<Heartbeat, 'node' | 'attempt'>,
): Promise<void> => log.heartbeat(head.address, { node: nodeKey(open), attempt: open.attempt, ...heartbeat }, head.expiresAt);

export async function recordCrash(
  decider: HeartbeatDecider<'index'>,
  fold: RunFold,
  open: OpenNode,
  known: Deliveries,
  now: Instant,
): Promise<Deliveries> {
  const { begun } = known;
  if (begun !== undefined) {
    const { at: begunAt, lastHeartbeatAt } = begun;
    await decider.deps.index.recordCrash(fold.head.address, { node: nodeKey(open), begunAt, lastHeartbeatAt, noticedAt: now });
  }
  return loseDelivery(known, now, countEndedNodes(decider, fold));
}

export async function lostAttemptFailure(
  { index }: Pick<Deps, 'index'>,
  { head }: RunFold,
  deliveries: Deliveries,
  now: Instant,
): Promise<Failure | undefined> {
  const since = firstHeartbeatAt(deliveries);
  if (since === undefined || !needsOtherCrashes(deliveries)) return undefined;
  const crashes = await index.crashesBetween(since, now);
  const otherCrashes = crashes.filter(({ runId }) => runId !== head.address.runId);
  return failureIfLost(deliveries, otherCrashes, now);
}

/** The progress of an attempt: other nodes that have ended meanwhile, where the run kind counts them. */
export const countEndedNodes = (decider: Pick<Decider, 'kinds'>, { head, state }: RunFold): number =>
  kindOf(decider, head).countEndedNodes(state);

interface HeartbeatDecider<Port extends keyof Deps> extends Pick<Decider, 'kinds'> {
  readonly deps: Pick<Deps, Port>;
}
