/** Questions about the open nodes of a run: whether an attempt is still current, which nodes wait, and how lists label the run. */
import { type Attempt, type NodeRef, type NodeId, nodeKey, firstAttempt } from '../ids.ts';
import type { Instant } from '../time.ts';
import { type RunState, openNodes, isWaitingForSlot } from './fold.ts';
import type { HeadProjection } from './head.ts';
import type { StepKind } from '../durable/step.ts';
import { type Heartbeat, belongsToAttempt, dueAtOf, recordedStart } from './heartbeat-timeout.ts';
import { type NodeState, type OpenNode, type SignalWait, type WaitingNode, isOpen } from './node-state.ts';

/** The node, if it is open and at this attempt. */
export function openNodeAt({ nodes }: Pick<RunState, 'nodes'>, ref: NodeRef, attempt: Attempt): OpenNode | undefined {
  const node = nodes.get(nodeKey(ref));
  return node !== undefined && isOpen(node) && node.attempt === attempt ? node : undefined;
}

/**
 * Other workflow tasks of the run that a worker may have begun. The messages of a run's tasks share a group, unless one was sent again:
 * then two tasks could execute the same step.
 */
export const dueWorkflowTasksBeside = (state: RunState, task: NodeRef, now: Instant): readonly OpenNode[] =>
  openNodes(state).filter(
    (node) => node.step?.kind === 'workflow_task' && nodeKey(node) !== nodeKey(task) && dueAtOf(node) <= now,
  );

/**
 * A step function starts in the workflow task that commits its dispatch, or in the task that its retry time wakes. So a dispatched step
 * is running, and no commit has to record its start.
 */
export function withStepStart(node: NodeState | undefined, now: Instant): NodeState | undefined {
  if (node?.status !== 'queued' || !hasStepFunction(node.step?.kind)) return node;
  const { notBefore = node.dispatchedAt, ...dispatched } = node;
  return notBefore > now ? node : { ...dispatched, status: 'running', startedAt: notBefore };
}

/** Whether a worker may have started the attempt without a commit: in a wide fan-out the start is in the heartbeat only. */
export const mayHaveRecordedStart = (node: OpenNode, now: Instant): boolean =>
  node.status === 'queued' && node.via === 'collect' && (node.notBefore ?? now) <= now;

/** A queued node that a worker runs according to its heartbeat. */
export function withRecordedStart(node: NodeState | undefined, heartbeat: Heartbeat | undefined): NodeState | undefined {
  if (node?.status !== 'queued' || heartbeat === undefined || !belongsToAttempt(heartbeat, node)) return node;
  const startedAt = recordedStart(heartbeat);
  if (startedAt === undefined) return node;
  const { notBefore: _notBefore, ...dispatched } = node;
  return { ...dispatched, status: 'running', startedAt };
}

export const hasStepFunction = (kind: StepKind | undefined): boolean => kind === 'function' || kind === 'rollback';

/** A node that sleeps. A queued node with a later start does not: a retry or the run's start delays it. */
export type Sleeper = Extract<WaitingNode, { for: 'time' }>;

/** The sleeping nodes among these ids, or all of them without ids. A wake request does not end a wait for a signal. */
export const sleepersOf = (state: RunState, nodeIds?: readonly NodeId[]): readonly Sleeper[] =>
  waitingIn(state).flatMap((node) =>
    node.for === 'time' && (nodeIds === undefined || nodeIds.includes(node.nodeId)) ? [node] : [],
  );

/** Which nodes a wake request names. */
export interface WakeRequest {
  /** absent: all of them */
  readonly nodeIds?: readonly NodeId[];
  /** the nodes that wait for their next attempt, instead of the sleeping ones */
  readonly retries?: true;
}

/** A node whose next attempt is delayed by its backoff. */
export type Backoff = Extract<OpenNode, { status: 'queued' }>;

/** The nodes in backoff. The worker of a graph node that is retried inline waits by itself, for less than a second. */
export const backoffsOf = (state: RunState, now: Instant, nodeIds?: readonly NodeId[]): readonly Backoff[] =>
  openNodes(state).flatMap((node) =>
    node.status === 'queued' &&
    node.attempt > firstAttempt &&
    (node.notBefore ?? now) > now &&
    (node.step !== undefined || node.via !== 'inline') &&
    (nodeIds === undefined || nodeIds.includes(node.nodeId))
      ? [node]
      : [],
  );

/** The nodes that a wake request wakes. */
export const wakeableNodes = (state: RunState, { nodeIds, retries }: WakeRequest, now: Instant): readonly OpenNode[] =>
  retries === true ? backoffsOf(state, now, nodeIds) : sleepersOf(state, nodeIds);

export const signalWaitsOf = (state: RunState): readonly SignalWait[] =>
  waitingIn(state).flatMap((node) => (node.for === 'signal' ? [node] : []));

const waitingIn = (state: RunState): readonly WaitingNode[] => openNodes(state).filter((node) => node.status === 'waiting');

/** The label by which lists find an open run: it retries, or it waits. Most runs have neither for long. */
export function attentionOf(state: RunState, now: Instant): HeadProjection['attention'] {
  if (isWaitingForSlot(state)) return 'waiting';
  const open = openNodes(state);
  if (open.some((node) => node.attempt > firstAttempt)) return 'retrying';
  const isWaiting = open.every(
    (node) => node.status === 'waiting' || (node.status === 'queued' && (node.notBefore ?? now) > now),
  );
  return open.length > 0 && isWaiting ? 'waiting' : undefined;
}
