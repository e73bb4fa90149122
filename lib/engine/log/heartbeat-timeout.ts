/**
 * Which open nodes nobody seems to be at work on. Judged node by node, never for the run as a whole: one busy branch
 * must not hide a dead one. Silence never fails anything: a backlog is silent too.
 */
import { defined } from '../defined.ts';
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

/** The last sign of life of a node, beside what the log says. */
export interface Heartbeat {
  readonly node: NodeKey;
  readonly at: Instant;
  readonly resends: number;
  /** absent: the first delivery is at work, or was sent, and no other is known */
  readonly deliveries?: Deliveries;
  /** whose deliveries these are: a worker of an earlier attempt may write its last after the next was asked for */
  readonly attempt?: Attempt;
}

/** One from before the attempt was asked for belongs to an earlier one. */
export const belongsToAttempt = ({ at, attempt }: Heartbeat, node: OpenNode): boolean =>
  at >= node.dispatchedAt && (attempt === undefined || attempt === node.attempt);

/** Silent after this long without a beat, a dispatch or a re-send, doubled with each re-send, and at most an hour. */
const baseHeartbeatTimeout: DurationMs = seconds(100);
const maxHeartbeatTimeout: DurationMs = minutes(60);
/** A timer may come this late by its service's precision (EventBridge Scheduler: 60 s). */
const timerGrace: DurationMs = seconds(60);
/** How soon the sweep looks again at a run that works. */
const workingCheckInterval: DurationMs = minutes(2);
/** And at one that awaits a signal, where a meeting may have been left half done: seldomer the longer it waits. */
const minSignalCheckInterval: DurationMs = minutes(10);
const maxSignalCheckInterval: DurationMs = hours(6);

/** And at one that waits for a place of its workflow, where the word that one is free may have been lost. */
const maxSlotCheckInterval: DurationMs = minutes(10);

export type HeartbeatState =
  /** not expected to show life before then */
  | { readonly kind: 'sleeping'; readonly node: OpenNode; readonly wasCheckedRecently: boolean }
  /** its own passes move it on, or the drive of its run, each of which is judged for itself */
  | { readonly kind: 'delegated' }
  /** only a signal or a child is expected to move it on, and its wait is not over */
  | { readonly kind: 'awaiting'; readonly wait: SignalWait | ChildWait; readonly wasCheckedRecently: boolean }
  /** asked for or seen at work recently */
  | { readonly kind: 'within_timeout' }
  | {
      readonly kind: 'timed_out';
      readonly node: OpenNode;
      readonly resends: number;
      /** of its current attempt */
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
  const expectedAt =
    node.status === 'waiting'
      ? (waitEndsAt(node) ?? node.dispatchedAt)
      : node.status === 'queued'
        ? (node.notBefore ?? node.dispatchedAt)
        : node.dispatchedAt;
  if (expectedAt > now) return { kind: 'sleeping', node, wasCheckedRecently };
  const resends = current?.resends ?? 0;
  const redeliveryPause = current?.deliveries === undefined ? undefined : redeliveryPauseAfter(current.deliveries, current.at);
  const timeout =
    redeliveryPause ??
    (node.status === 'waiting' && resends === 0
      ? timerGrace
      : durationMs(Math.min(maxHeartbeatTimeout, baseHeartbeatTimeout * 2 ** resends)));
  const lastSeenAt = instant(Math.max(expectedAt, current?.at ?? expectedAt));
  return now - lastSeenAt >= timeout
    ? defined({ kind: 'timed_out', node, resends, heartbeat: current })
    : { kind: 'within_timeout' };
}

/** At first as long as a node may be silent, then as long as the wait has lasted, as with the looks of the sweep. */
const recheckInterval = ({ dispatchedAt }: OpenNode, lastCheck: Heartbeat): DurationMs =>
  durationMs(Math.min(maxSignalCheckInterval, Math.max(baseHeartbeatTimeout, between(dispatchedAt, lastCheck.at))));

/** What the author's code asked for and is at work on: whoever drives the code has it in hand. */
const isRunByWorkflowTask = ({ step }: OpenNode): boolean => step !== undefined && step.kind !== 'workflow_task';

export function heartbeatStates(
  state: RunState,
  heartbeats: readonly Heartbeat[],
  now: Instant,
): readonly (readonly [NodeKey, HeartbeatState])[] {
  const byNode = heartbeatsByNode(state, heartbeats);
  return openNodes(state).map((node) => [nodeKey(node), heartbeatStateOf(node, byNode.get(nodeKey(node)), now)]);
}

/** One drive of a run is at work at a time, and the message of another waits behind it: while one beats, none is lost. */
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
    for (const key of open.keys()) if (isWorkflowTask(key)) byNode.set(key, laterHeartbeat(byNode.get(key), latestHeartbeat));
  return byNode;
}

/** A heartbeat or a begin, as opposed to a message that was sent again. */
export const isFromWorker = ({ at, resends, deliveries }: Heartbeat): boolean =>
  deliveries === undefined ? resends === 0 : deliveries.begun?.lastHeartbeatAt === at;

function laterHeartbeat(existing: Heartbeat | undefined, { attempt: _attempt, ...other }: Heartbeat): Heartbeat {
  if (existing === undefined) return other;
  return existing.at >= other.at ? existing : { ...existing, at: other.at };
}

/** Its sign says when a look at the run last left another one. No loop is in a pass of its own, so that no node has this key. */
const recheckNode: NodeRef = { nodeId: nodeId('.recheck'), iteration: topLevel };
export const recheckKey: NodeKey = nodeKey({ ...recheckNode, iteration: iterationKeyOf(recheckNode, 0) });
/** How long before its look a nudge is left: longer than the first patience by this. */
const recheckLead: DurationMs = seconds(50);

/** Whether another look was left so lately that whatever is young now has had the first patience when it comes. */
export function isRecheckPending(heartbeats: readonly Heartbeat[], now: Instant): boolean {
  const lastRecheck = heartbeats.find(({ node }) => node === recheckKey);
  return lastRecheck !== undefined && now - lastRecheck.at < recheckLead;
}

/**
 * When the sweep must look at an open run next: a minute after the next timer, every two minutes while a node is queued
 * or running, ten minutes to six hours while a signal or a child is awaited, two to ten
 * minutes while a place is, and in any case shortly before the deadline and at it.
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

/** The sweep takes a minute once it has passed, and may begin a minute late: it looks at the run two minutes before, at the latest. */
const deadlineLead: DurationMs = minutes(4);

const deadlineCheckAt = (deadlineAt: Instant, now: Instant): Instant =>
  instant(deadlineAt - deadlineLead > now ? deadlineAt - deadlineLead : deadlineAt);

const waitCheckAt = (wait: SignalWait | ChildWait, now: Instant): Instant =>
  after(now, durationMs(Math.min(maxSignalCheckInterval, Math.max(minSignalCheckInterval, between(wait.dispatchedAt, now)))));

const slotCheckInterval = (since: Instant, now: Instant): DurationMs =>
  durationMs(Math.min(maxSlotCheckInterval, Math.max(workingCheckInterval, between(since, now))));

/** The whole minute, since the epoch, that an instant lies in. */
export const minuteOf = (moment: Instant): number => Math.floor(moment / 60_000);
