/** The state of a run, and the operations that write its parts. The fold (`fold.ts`) decides which event writes what. */
import { defined } from '../../base/defined.ts';
import { type DevKitState, forkDevKit } from '../devkit/state.ts';
import type { StepInfo } from '../durable/step.ts';
import {
  type Attempt,
  type CommitNo,
  type EventId,
  type IterationKey,
  type NodeId,
  type NodeKey,
  type NodeRef,
  eventId,
  nodeKey,
  iterationKeyOf,
  topLevel,
} from '../ids.ts';
import { invariant } from '../invariant.ts';
import type { Payload } from '../json.ts';
import type { Instant } from '../time.ts';
import type { Failure, RunOutcome, TokenCount } from './events.ts';
import { LayeredMap } from './layered-map.ts';
import { type LoopIteration, type NodeState, type OpenNode, type DispatchRecord, isOpen } from './node-state.ts';

/** One write of a context key, visible to contexts as of later events. */
export interface ContextWrite {
  readonly writtenBy: EventId;
  readonly payload: Payload;
}

export type RunProgress =
  | { readonly status: 'pending' }
  | { readonly status: 'running'; readonly startedAt: Instant }
  | { readonly status: 'completed'; readonly endedAt: Instant; readonly output: Payload }
  | { readonly status: 'failed'; readonly endedAt: Instant; readonly error: Failure }
  | { readonly status: 'cancelled'; readonly endedAt: Instant; readonly reason?: string };

/** How a run has ended. */
export type RunEnd = Exclude<RunProgress, { status: 'pending' | 'running' }>;

/** The run's usage of its budget. It follows from the events alone, so nothing is counted twice or missed. */
export interface BudgetUsage {
  /** dispatched attempts, retries included, and called runs */
  readonly executions: number;
  /** input and output tokens that models reported, failed attempts included */
  readonly tokens: number;
}

/** The concurrency slot of a run whose workflow limits concurrent runs. */
export interface Admission {
  /** the run may take a slot below this number */
  readonly slots: number;
  /** the requested start: slots go to the earliest */
  readonly since: Instant;
  readonly notBefore?: Instant;
  /** absent: the run waits for a slot, or ended without one */
  readonly slot?: number;
}

/** The state of a code run, beside its nodes. */
export interface CodeState {
  /** workflow tasks so far; also the number of the last one */
  readonly workflowTasks: number;
  /** attempts of all steps, retries included */
  readonly stepAttempts: number;
  /** 1 for the first attempt of the workflow */
  readonly attempt: Attempt;
  /** id of the event that began this attempt of the workflow: steps begun later belong to it, results of earlier steps stand */
  readonly attemptStartedAfter: EventId;
  /** for each step that calls a workflow: its failed calls in earlier attempts of the workflow; a new attempt calls a new run */
  readonly failedCalls?: Readonly<Record<NodeId, number>>;
  /** set when the rollback begins: how the run ends after it */
  readonly runOutcome?: RunOutcome;
  /** `workflowTasks` when the rollback began; a task that was lost before then leaves the rollback to another task */
  readonly workflowTasksAtRollback?: number;
}

/** An extension of the deadline, and the time of its commit. */
export interface DeadlineExtension {
  readonly deadlineAt: Instant;
  readonly at: Instant;
}

export interface RunState {
  /** the last commit folded; 0 before the first */
  asOf: CommitNo | 0;
  nextEventId: EventId;
  progress: RunProgress;
  budgetUsage: BudgetUsage;
  /** the last extension of the deadline; absent: the deadline of the head counts */
  deadlineExtension?: DeadlineExtension;
  /** when the last wait of the run ended, or ends: a sleep, a wait for a signal, a called run, a slot, a retry, a delayed dispatch, or a pause between messages of a bundle run */
  lastWaitEndsAt?: Instant;
  /** absent: the workflow does not limit concurrent runs */
  admission?: Admission;
  /** absent: not a code run */
  code?: CodeState;
  /** absent: not a run of the Workflow DevKit */
  devkit?: DevKitState;
  readonly nodes: LayeredMap<NodeKey, NodeState>;
  /** nodes that have begun and not ended */
  readonly open: LayeredMap<NodeKey, true>;
  readonly contextWrites: LayeredMap<string, readonly ContextWrite[]>;
  /** open iterations of loops */
  readonly iterations: LayeredMap<IterationKey, LoopIteration>;
}

export const emptyState = (): RunState => ({
  asOf: 0,
  nextEventId: eventId(1),
  progress: { status: 'pending' },
  budgetUsage: { executions: 0, tokens: 0 },
  nodes: new LayeredMap(),
  open: new LayeredMap(),
  contextWrites: new LayeredMap(),
  iterations: new LayeredMap(),
});

/** A copy in constant time; changes to it do not reach the original. */
export const fork = (state: RunState): RunState => ({
  ...state,
  ...(state.devkit === undefined ? {} : { devkit: forkDevKit(state.devkit) }),
  nodes: state.nodes.fork(),
  open: state.open.fork(),
  contextWrites: state.contextWrites.fork(),
  iterations: state.iterations.fork(),
});

export const isTerminal = (progress: RunProgress): progress is RunEnd =>
  progress.status !== 'pending' && progress.status !== 'running';

/** Nothing of the run has begun, and nothing may begin before it has a slot. */
export const isWaitingForSlot = ({ progress, admission }: RunState): boolean =>
  admission !== undefined && admission.slot === undefined && !isTerminal(progress);

export const openNodes = ({ nodes, open }: RunState): readonly OpenNode[] =>
  [...open.keys()].map((key) => {
    const node = nodes.get(key);
    invariant(node !== undefined && isOpen(node), () => `${key} is listed as open and has no open state`);
    return node;
  });

/** Commit number and time, shared by the events of a commit. */
export interface Stamp {
  readonly commit: CommitNo;
  readonly at: Instant;
}

/** The node; throws unless it is open and at this attempt. */
export function requireOpenNode(node: NodeState | undefined, attempt: Attempt, ref: NodeRef): OpenNode {
  invariant(node !== undefined && isOpen(node), () => `${nodeKey(ref)} is not open`);
  invariant(node.attempt === attempt, () => `${nodeKey(ref)} is at attempt ${node.attempt}, not ${attempt}`);
  return node;
}

export function setOpenNode(state: RunState, node: OpenNode): void {
  const key = nodeKey(node);
  countInIteration(state, node, 1);
  state.nodes.set(key, node);
  state.open.set(key, true);
}

export function setEndedNode(state: RunState, node: Exclude<NodeState, OpenNode>): void {
  const key = nodeKey(node);
  countInIteration(state, node, 0);
  state.nodes.set(key, node);
  state.open.delete(key);
}

/** An iteration lists its nodes and counts the open ones. */
function countInIteration(state: RunState, node: NodeState, openCount: 0 | 1): void {
  if (node.iteration === topLevel) return;
  const key = nodeKey(node);
  const loopIteration = requireLoopIteration(state, node.iteration);
  const members = state.nodes.has(key) ? loopIteration.members : [...loopIteration.members, key];
  const openBefore = state.open.has(key) ? 1 : 0;
  state.iterations.set(node.iteration, { ...loopIteration, members, open: loopIteration.open + openCount - openBefore });
}

export function requireLoopIteration(state: RunState, iteration: IterationKey): LoopIteration {
  const loopIteration = state.iterations.get(iteration);
  invariant(loopIteration !== undefined, () => `iteration ${iteration} is not open`);
  return loopIteration;
}

/** A value that a node writes inside an iteration is visible only in that iteration. */
export function writeContext(state: RunState, iteration: IterationKey, key: string, writtenBy: EventId, payload: Payload): void {
  if (iteration === topLevel) {
    state.contextWrites.set(key, [...(state.contextWrites.get(key) ?? []), { writtenBy, payload }]);
    return;
  }
  const loopIteration = requireLoopIteration(state, iteration);
  const before = Object.hasOwn(loopIteration.contextWrites, key) ? loopIteration.contextWrites[key] : undefined;
  state.iterations.set(iteration, {
    ...loopIteration,
    contextWrites: { ...loopIteration.contextWrites, [key]: [...(before ?? []), { writtenBy, payload }] },
  });
}

/** Records the end of a wait. An undeclared deadline counts from the last one. */
export const recordWaitEnd = (state: RunState, endsAt: Instant): void => {
  if (state.lastWaitEndsAt === undefined || state.lastWaitEndsAt < endsAt) state.lastWaitEndsAt = endsAt;
};

/** Forgets the iteration and every iteration nested in it. */
export function dropIteration(state: RunState, iteration: IterationKey): void {
  for (const key of requireLoopIteration(state, iteration).members) {
    const node = state.nodes.get(key);
    if (node !== undefined) dropIterationsOf(state, node);
    state.nodes.delete(key);
    state.open.delete(key);
  }
  state.iterations.delete(iteration);
}

/** Forgets the open iterations of a loop that ends. */
export function dropIterationsOf(state: RunState, node: NodeState): void {
  if (node.status !== 'waiting' || node.for !== 'iterations') return;
  for (const index of node.loop.open) dropIteration(state, iterationKeyOf(node, index));
}

export const countExecution = (state: RunState): void => {
  state.budgetUsage = { ...state.budgetUsage, executions: state.budgetUsage.executions + 1 };
};

export const countTokens = (state: RunState, { tokens }: { readonly tokens?: TokenCount }): void => {
  if (tokens !== undefined)
    state.budgetUsage = { ...state.budgetUsage, tokens: state.budgetUsage.tokens + tokens.input + tokens.output };
};

/** The part of a node's state that the fold keeps from the dispatch of an attempt. */
export const dispatchRecord = (
  ref: NodeRef,
  attempt: Attempt,
  via: DispatchRecord['via'],
  wave: number,
  id: EventId,
  stamp: Stamp,
  step?: StepInfo,
): DispatchRecord =>
  defined({
    ...ref,
    attempt,
    via,
    wave,
    dispatchedIn: stamp.commit,
    dispatchedAt: stamp.at,
    pinnedAt: id,
    step,
  });

export const dispatchRecordOf = (open: OpenNode): DispatchRecord => {
  const { nodeId, iteration, attempt, via, wave, dispatchedIn, dispatchedAt, pinnedAt, step, lostAttempts } = open;
  return defined({
    nodeId,
    iteration,
    attempt,
    via,
    wave,
    dispatchedIn,
    dispatchedAt,
    pinnedAt,
    step,
    lostAttempts,
  });
};

/** Record of a node that begins to wait. Its timer names the commit that recorded the wait. */
export const waitRecordOf = (
  before: NodeState | undefined,
  ref: NodeRef,
  { attempt, step }: { readonly attempt: Attempt; readonly step?: StepInfo },
  id: EventId,
  stamp: Stamp,
): DispatchRecord => ({
  ...(before === undefined
    ? dispatchRecord(ref, attempt, 'inline', 0, id, stamp, step)
    : dispatchRecordOf(requireOpenNode(before, attempt, ref))),
  dispatchedIn: stamp.commit,
  dispatchedAt: stamp.at,
});
