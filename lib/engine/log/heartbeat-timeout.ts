/**
 * Evaluates which open nodes no worker seems to execute. Each node is evaluated by itself, so that a busy branch does not hide a
 * stuck one. A heartbeat timeout never fails a node: a node in a queue backlog sends no heartbeat either.
 */
import { defined } from '../../base/defined.ts';
import { backoffMs } from '../../base/retry.ts';
import { type Attempt, type NodeKey, type NodeRef, nodeId, nodeKey, iterationKeyOf, topLevel } from '../ids.ts';
import {
  type DurationMs,
  type Instant,
  after,
  between,
  durationMs,
  earliest,
  hours,
  instant,
  minutes,
  seconds,
} from '../time.ts';
import { type Deliveries, redeliveryPauseAfter } from './deliveries.ts';
import { type RunState, openNodes, isWaitingForSlot } from './fold.ts';
import { type ChildWait, type OpenNode, type SignalWait, waitEndsAt } from './node-state.ts';

/** The last heartbeat or resend of a node, stored beside the log. */
export interface Heartbeat {
  readonly node: NodeKey;
  readonly at: Instant;
  readonly resends: number;
  /** absent: only the first delivery is known */
  readonly deliveries?: Deliveries;
  /** the attempt of the record: the worker of an earlier attempt may write its last heartbeat after the next dispatch */
  readonly attempt?: Attempt;
  /** the start of the attempt, where no commit records it */
  readonly startedAt?: Instant;
}

/** A heartbeat from before the dispatch belongs to an earlier attempt. */
export const belongsToAttempt = ({ at, attempt }: Heartbeat, node: OpenNode): boolean =>
  at >= node.dispatchedAt && (attempt === undefined || attempt === node.attempt);

/** When the worker of the last heartbeat started the attempt; undefined for a resend, and where the record does not say it. */
export const recordedStart = (heartbeat: Heartbeat): Instant | undefined =>
  isFromWorker(heartbeat) ? (heartbeat.deliveries?.begun?.at ?? heartbeat.startedAt) : undefined;

/** Timeout without a heartbeat, dispatch or resend; doubled with each resend, at most an hour. */
export const baseHeartbeatTimeout: DurationMs = seconds(100);
export const maxHeartbeatTimeout: DurationMs = minutes(60);
/** A timer may be this late: the precision of EventBridge Scheduler is 60 s. */
export const timerGrace: DurationMs = seconds(60);
/** Interval of the sweep's checks of a run that makes progress. */
export const workingCheckInterval: DurationMs = minutes(2);
/** Interval while a signal is awaited, where matching may have stopped half way; it grows with the wait. */
export const minSignalCheckInterval: DurationMs = minutes(10);
export const maxSignalCheckInterval: DurationMs = hours(6);

/** Interval while a run waits for a concurrency slot, because the message that a slot is free may be lost. */
export const maxSlotCheckInterval: DurationMs = minutes(10);

/**
 * An attempt that began without a record has sent a heartbeat at this time after it was due. The difference to the base heartbeat
 * timeout covers the interval of a worker's checks and the difference between clocks.
 */
export const firstHeartbeatBy: DurationMs = seconds(80);

/** When a worker may begin the attempt or end the wait. The heartbeat timeout counts from then. */
export function dueAtOf(node: OpenNode): Instant {
  if (node.status === 'waiting') return waitEndsAt(node) ?? node.dispatchedAt;
  return node.status === 'queued' ? (node.notBefore ?? node.dispatchedAt) : node.dispatchedAt;
}

/** Whether an attempt that begins now must be recorded, because recovery may send its job again before its first heartbeat. */
export const mustRecordBegin = (node: OpenNode, now: Instant): boolean => between(dueAtOf(node), now) >= firstHeartbeatBy;

export type HeartbeatState =
  /** no heartbeat is expected before its time */
  | { readonly kind: 'sleeping'; readonly node: OpenNode; readonly wasCheckedRecently: boolean }
  /** its own iterations or the run's workflow task move it on; those are evaluated themselves */
  | { readonly kind: 'delegated' }
  /** only a signal or a child moves it on, and its wait has not expired */
  | { readonly kind: 'awaiting'; readonly wait: SignalWait | ChildWait; readonly wasCheckedRecently: boolean }
  /** dispatched or alive recently */
  | { readonly kind: 'within_timeout' }
  | {
      readonly kind: 'timed_out';
      readonly node: OpenNode;
      readonly resends: number;
      /** of the current attempt */
      readonly heartbeat?: Heartbeat;
    };

export function heartbeatStateOf(node: OpenNode, heartbeat: Heartbeat | undefined, now: Instant): HeartbeatState {
  if (node.status !== 'waiting' && isRunByWorkflowTask(node)) return { kind: 'delegated' };
  const current = heartbeat !== undefined && belongsToAttempt(heartbeat, node) ? heartbeat : undefined;
  const wasCheckedRecently = current !== undefined && now - current.at < recheckInterval(node, current);
  const isAwaiting = node.status === 'waiting' && (node.for === 'signal' || node.for === 'child');
  if (isAwaiting && (node.expiresAt === undefined || node.expiresAt > now))
    return { kind: 'awaiting', wait: node, wasCheckedRecently };
  if (node.status === 'waiting' && node.for === 'iterations' && node.loop.wakeAt === undefined) return { kind: 'delegated' };
  const expectedAt = dueAtOf(node);
  if (expectedAt > now) return { kind: 'sleeping', node, wasCheckedRecently };
  const resends = current?.resends ?? 0;
  const redeliveryPause = current?.deliveries === undefined ? undefined : redeliveryPauseAfter(current.deliveries, current.at);
  const timeout =
    redeliveryPause ??
    (node.status === 'waiting' && resends === 0
      ? timerGrace
      : durationMs(backoffMs({ baseMs: baseHeartbeatTimeout, maxMs: maxHeartbeatTimeout }, resends + 1)));
  const lastSeenAt = instant(Math.max(expectedAt, current?.at ?? expectedAt));
  return now - lastSeenAt >= timeout
    ? defined({ kind: 'timed_out', node, resends, heartbeat: current })
    : { kind: 'within_timeout' };
}

/** At first the heartbeat timeout, then as long as the wait has lasted, like the sweep's interval. */
const recheckInterval = ({ dispatchedAt }: OpenNode, lastCheck: Heartbeat): DurationMs =>
  durationMs(Math.min(maxSignalCheckInterval, Math.max(baseHeartbeatTimeout, between(dispatchedAt, lastCheck.at))));

/** Steps that the run's workflow task executes. */
const isRunByWorkflowTask = ({ step }: OpenNode): boolean => step !== undefined && step.kind !== 'workflow_task';

export function heartbeatStates(
  state: RunState,
  heartbeats: readonly Heartbeat[],
  now: Instant,
): readonly (readonly [NodeKey, HeartbeatState])[] {
  const byNode = heartbeatsByNode(state, heartbeats);
  return openNodes(state).map((node) => [nodeKey(node), heartbeatStateOf(node, byNode.get(nodeKey(node)), now)]);
}

/**
 * Workflow tasks of a run execute one at a time, so a heartbeat of one shows that the queued ones are not lost. What the heartbeat says of
 * the deliveries and resends of its own task says nothing of the others.
 */
function heartbeatsByNode({ nodes, open }: RunState, heartbeats: readonly Heartbeat[]): ReadonlyMap<NodeKey, Heartbeat> {
  const byNode = new Map(heartbeats.map((heartbeat) => [heartbeat.node, heartbeat]));
  const isWorkflowTask = (key: NodeKey): boolean => {
    const node = nodes.get(key);
    return node !== undefined && 'step' in node && node.step?.kind === 'workflow_task';
  };
  const [latestHeartbeat] = heartbeats
    .filter((heartbeat) => isFromWorker(heartbeat) && isWorkflowTask(heartbeat.node))
    .toSorted((one, other) => other.at - one.at);
  if (latestHeartbeat !== undefined)
    for (const key of open.keys()) {
      if (!isWorkflowTask(key)) continue;
      const own = byNode.get(key) ?? { node: key, at: latestHeartbeat.at, resends: 0 };
      byNode.set(key, own.at >= latestHeartbeat.at ? own : { ...own, at: latestHeartbeat.at });
    }
  return byNode;
}

/** A heartbeat or begin of a worker, as opposed to a resend. */
export const isFromWorker = ({ at, resends, deliveries }: Heartbeat): boolean =>
  deliveries === undefined ? resends === 0 : deliveries.begun?.lastHeartbeatAt === at;

/** Its heartbeat item records when a check of the run last sent a recheck. Loops have no such iteration, so no node has this key. */
const recheckNode: NodeRef = { nodeId: nodeId('.recheck'), iteration: topLevel };
export const recheckKey: NodeKey = nodeKey({ ...recheckNode, iteration: iterationKeyOf(recheckNode, 0) });
/** A recheck comes this much later than the base heartbeat timeout. */
export const recheckLead: DurationMs = seconds(50);

/** Whether a recheck was sent so recently that every node now within its timeout has passed the base timeout when it arrives. */
export function isRecheckPending(heartbeats: readonly Heartbeat[], now: Instant): boolean {
  const lastRecheck = heartbeats.find(({ node }) => node === recheckKey);
  return lastRecheck !== undefined && now - lastRecheck.at < recheckLead;
}

/**
 * When the sweep must next check an open run, the earliest of: a minute after the next timer; two minutes while a node is queued or
 * running; ten minutes to six hours while a signal or a child is awaited; two to ten minutes while a slot is awaited; shortly before
 * the deadline, and at the deadline.
 */
export function nextCheck(state: RunState, deadlineAt: Instant, now: Instant): Instant {
  const checks: Instant[] = [deadlineCheckAt(deadlineAt, now)];
  const startsAt = state.admission?.notBefore;
  if (isWaitingForSlot(state))
    checks.push(
      startsAt !== undefined && startsAt > now
        ? after(startsAt, timerGrace)
        : after(now, slotCheckInterval(state.admission?.since ?? now, now)),
    );
  for (const node of openNodes(state)) {
    if (node.status !== 'waiting' && isRunByWorkflowTask(node)) continue;
    const expectedAt = node.status === 'waiting' ? waitEndsAt(node) : node.status === 'queued' ? node.notBefore : undefined;
    if (node.status === 'waiting' && (node.for === 'signal' || node.for === 'child')) checks.push(waitCheckAt(node, now));
    if (node.status === 'waiting' && expectedAt === undefined) continue;
    checks.push(expectedAt !== undefined && expectedAt > now ? after(expectedAt, timerGrace) : after(now, workingCheckInterval));
  }
  return earliest(checks) ?? after(now, workingCheckInterval);
}

/** The sweep processes a minute after it has passed, and may start a minute late: it checks the run at least two minutes before. */
export const deadlineLead: DurationMs = minutes(4);

export const deadlineCheckAt = (deadlineAt: Instant, now: Instant): Instant =>
  instant(deadlineAt - deadlineLead > now ? deadlineAt - deadlineLead : deadlineAt);

const waitCheckAt = (wait: SignalWait | ChildWait, now: Instant): Instant =>
  after(now, durationMs(Math.min(maxSignalCheckInterval, Math.max(minSignalCheckInterval, between(wait.dispatchedAt, now)))));

const slotCheckInterval = (since: Instant, now: Instant): DurationMs =>
  durationMs(Math.min(maxSlotCheckInterval, Math.max(workingCheckInterval, between(since, now))));

/** Whole minutes since the epoch. */
export const minuteOf = (moment: Instant): number => Math.floor(moment / 60_000);
