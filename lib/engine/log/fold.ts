/**
 * The fold: commits in, state out. The same log always folds to the same state. The fold needs no definition, clock or
 * configuration, so every reader of a log sees the same run, now and years later.
 */
import { defined } from '../../base/defined.ts';
import {
  type Attempt,
  type EventId,
  type NodeRef,
  type RunId,
  type SignalId,
  attempt,
  commitNo,
  eventId,
  firstAttempt,
  nodeKey,
  topLevel,
} from '../ids.ts';
import type { DevKitEvent } from '../devkit/events.ts';
import { applyDevKitEvent } from '../devkit/fold.ts';
import { invariant, unreachable } from '../invariant.ts';
import { type Commit, nextCommitNo } from './commit.ts';
import {
  type RunProgress,
  type RunState,
  type Stamp,
  dispatchRecordOf,
  dispatchRecord,
  waitRecordOf,
  countExecution,
  countTokens,
  dropIterationsOf,
  setEndedNode,
  isTerminal,
  setOpenNode,
  openNodes,
  recordWaitEnd,
  requireOpenNode,
  isWaitingForSlot,
  writeContext,
} from './run-state.ts';
import type { Failure, RunEvent } from './events.ts';
import { type LoopEvent, applyLoopEvent, isLoopEvent } from './fold-loop.ts';
import { beginRollback, countTaskOrStep, retryWorkflow } from './fold-code.ts';
import { type IterationCounts, type EndedStep, type NodeState, type OpenNode, iterationCountsOf, isOpen } from './node-state.ts';

export {
  type Admission,
  type RunEnd,
  type RunProgress,
  type RunState,
  type BudgetUsage,
  type CodeState,
  type ContextWrite,
  emptyState,
  fork,
  isTerminal,
  openNodes,
  isWaitingForSlot,
} from './run-state.ts';

/** Raise it when a stored fold no longer means the same as a new fold of its log. */
export const foldSchema = 13;

/** Folds the next commit into the state. The commit must be the next one, and no event may follow the end of the run. */
export function applyCommit(state: RunState, commit: Commit): void {
  const expected = state.asOf === 0 ? commitNo(1) : nextCommitNo(state.asOf);
  invariant(commit.number === expected, () => `commit ${commit.number} cannot follow commit ${state.asOf}`);
  invariant(
    commit.firstEventId === state.nextEventId,
    () => `commit ${commit.number} begins with event ${commit.firstEventId}, not ${state.nextEventId}`,
  );
  // A bundle run without an open message waits for its next one. A running run of another kind always has an open node.
  const wasIdle = state.asOf !== 0 && state.progress.status === 'running' && state.open.size === 0;
  for (const event of commit.events) applyEvent(state, event, { commit: commit.number, at: commit.at });
  if (wasIdle && state.open.size > 0) recordWaitEnd(state, commit.at);
  state.asOf = commit.number;
}

/** Folds one event, with the state's next event id. */
export function applyEvent(state: RunState, event: RunEvent, stamp: Stamp): void {
  // A step of the DevKit may end after its run.
  invariant(
    event.type === 'DEVKIT' || !isTerminal(state.progress),
    () => `${event.type} after the run ended as ${state.progress.status}`,
  );
  const id = state.nextEventId;
  if (event.type === 'DEVKIT') applyDevKitEvent(state, event, stamp, (progress) => endRun(state, id, stamp, progress));
  else if (isLoopEvent(event)) applyLoopEvent(state, event, stamp);
  else if ('nodeId' in event) applyNodeEvent(state, event, stamp);
  else applyRunEvent(state, event, stamp);
  state.nextEventId = eventId(id + 1);
}

type NodeEvent = Exclude<Extract<RunEvent, { nodeId: unknown }>, LoopEvent>;

function applyRunEvent(state: RunState, event: Exclude<RunEvent, NodeEvent | LoopEvent | DevKitEvent>, stamp: Stamp): void {
  const id = state.nextEventId;
  switch (event.type) {
    case 'INPUT_SET':
      writeContext(state, topLevel, 'input', id, event.input);
      break;
    case 'SYSTEM_SET':
      writeContext(state, topLevel, event.key, id, event.value);
      break;
    case 'RUN_STARTED':
    case 'RUN_RESUMED':
    case 'RUN_RECOVERED':
      break;
    case 'SLOT_AWAITED': {
      const { slots, notBefore } = event;
      state.admission = defined({ slots, since: notBefore ?? stamp.at, notBefore });
      break;
    }
    case 'SLOT_TAKEN':
      invariant(state.admission !== undefined && isWaitingForSlot(state), 'SLOT_TAKEN in a run that waits for no slot');
      state.admission = { ...state.admission, slot: event.slot };
      recordWaitEnd(state, stamp.at);
      break;
    case 'DEADLINE_EXTENDED':
      state.deadlineExtension = { deadlineAt: event.deadlineAt, at: stamp.at };
      break;
    case 'RUN_STATUS_CHANGED':
      if (event.status === 'running') state.progress = { status: 'running', startedAt: stamp.at };
      break;
    case 'RUN_RETRIED':
      retryWorkflow(state, event, id);
      if (event.delayMs > 0) recordWaitEnd(state, event.retryAt);
      break;
    case 'ROLLBACK_STARTED':
      cancelOpenNodes(state, id, stamp, (node) => node.step?.kind !== 'workflow_task');
      beginRollback(state, event);
      break;
    case 'RUN_COMPLETED':
      endRun(state, id, stamp, { status: 'completed', endedAt: stamp.at, output: event.output });
      break;
    case 'RUN_FAILED':
    case 'RUN_TIMED_OUT':
      endRun(state, id, stamp, { status: 'failed', endedAt: stamp.at, error: event.error });
      break;
    case 'RUN_CANCELLED':
      endRun(
        state,
        id,
        stamp,
        defined({
          status: 'cancelled',
          endedAt: stamp.at,
          reason: event.reason,
        }),
      );
      break;
    default:
      unreachable(event);
  }
}

/** What the fold needs of the node that an event changes. */
interface NodeChange {
  readonly ref: NodeRef;
  readonly before: NodeState | undefined;
  readonly id: EventId;
  readonly stamp: Stamp;
}

type NodeEventOf<Type extends NodeEvent['type']> = Extract<NodeEvent, { type: Type }>;

function applyNodeEvent(state: RunState, event: NodeEvent, stamp: Stamp): void {
  const id = state.nextEventId;
  const ref: NodeRef = { nodeId: event.nodeId, iteration: event.iteration };
  const before = state.nodes.get(nodeKey(ref));
  invariant(
    before === undefined || isOpen(before),
    () => `${event.type} of ${nodeKey(ref)}, which already ended as ${before?.status}`,
  );
  if (before !== undefined && event.type !== 'NODE_DISPATCHED' && event.type !== 'NODE_SKIPPED')
    requireOpenNode(before, event.attempt, ref);
  countTaskOrStep(state, event, before);
  if (before !== undefined && (event.type === 'NODE_COMPLETED' || event.type === 'NODE_FAILED')) dropIterationsOf(state, before);
  if (
    before?.status === 'waiting' &&
    before.for !== 'iterations' &&
    (event.type === 'NODE_COMPLETED' || event.type === 'NODE_FAILED')
  )
    recordWaitEnd(state, stamp.at);
  const change: NodeChange = { ref, before, id, stamp };
  switch (event.type) {
    case 'NODE_DISPATCHED':
      return dispatchNode(state, event, change);
    case 'NODE_STARTED': {
      const open = requireOpenNode(before, event.attempt, ref);
      return setOpenNode(state, { ...dispatchRecordOf(open), status: 'running', startedAt: event.startedAt });
    }
    case 'SLEEP_STARTED':
    case 'SIGNAL_AWAITED':
    case 'SUBFLOW_CALLED':
      return beginWait(state, event, change);
    case 'SIGNAL_RECEIVED': {
      const open = requireOpenNode(before, event.attempt, ref);
      invariant(open.status === 'waiting' && open.for === 'signal', () => `${nodeKey(ref)} received a signal and awaits none`);
      return setOpenNode(state, { ...open, signalId: event.signalId });
    }
    case 'NODE_WOKEN': {
      const open = requireOpenNode(before, event.attempt, ref);
      // The next attempt of a node in backoff is dispatched by this commit. Jobs of the commit that retried it are stale.
      if (open.status === 'queued' && open.notBefore !== undefined)
        return setOpenNode(state, { ...open, dispatchedIn: stamp.commit, dispatchedAt: stamp.at, notBefore: stamp.at });
      return invariant(open.status === 'waiting' && open.for === 'time', () => `${nodeKey(ref)} was woken and does not sleep`);
    }
    case 'CONTRACT_VIOLATED':
    case 'MODERATION_FLAGGED':
      return;
    case 'NODE_RETRIED':
      return retryNode(state, event, change);
    case 'NODE_COMPLETED':
      return completeNode(state, event, change);
    case 'NODE_FAILED':
      return failNode(state, event, change);
    case 'NODE_SKIPPED':
      return setEndedNode(state, { ...ref, status: 'skipped', reason: event.reason, endedAt: stamp.at, endedBy: id });
    default:
      unreachable(event);
  }
}

function dispatchNode(state: RunState, event: NodeEventOf<'NODE_DISPATCHED'>, { ref, before, id, stamp }: NodeChange): void {
  invariant(before === undefined, () => `${nodeKey(ref)} was dispatched twice`);
  if (event.isPure !== true && event.step?.kind !== 'workflow_task') countExecution(state);
  if (event.notBefore !== undefined) recordWaitEnd(state, event.notBefore);
  setOpenNode(
    state,
    defined({
      ...dispatchRecord(ref, event.attempt, event.via, event.wave, id, stamp, event.step),
      status: 'queued',
      notBefore: event.notBefore,
    }),
  );
}

function beginWait(
  state: RunState,
  event: NodeEventOf<'SLEEP_STARTED' | 'SIGNAL_AWAITED' | 'SUBFLOW_CALLED'>,
  { ref, before, id, stamp }: NodeChange,
): void {
  const record = waitRecordOf(before, ref, event, id, stamp);
  switch (event.type) {
    case 'SLEEP_STARTED':
      return setOpenNode(state, { ...record, status: 'waiting', for: 'time', wakeAt: event.wakeAt, output: event.output });
    case 'SIGNAL_AWAITED': {
      const { name, correlation, expiresAt, expiryHandle } = event;
      return setOpenNode(
        state,
        defined({ ...record, status: 'waiting', for: 'signal', name, correlation, expiresAt, expiryHandle }),
      );
    }
    case 'SUBFLOW_CALLED': {
      const { childRunId, workflowName, version, input, expiresAt, parentClosePolicy, onChildCancelled } = event;
      // NODE_RETRIED already counted a repeated call.
      if (event.attempt === firstAttempt) countExecution(state);
      return setOpenNode(
        state,
        defined({
          ...record,
          status: 'waiting',
          for: 'child',
          childRunId,
          workflowName,
          version,
          input,
          expiresAt,
          parentClosePolicy,
          onChildCancelled,
        }),
      );
    }
    default:
      unreachable(event);
  }
}

function retryNode(state: RunState, event: NodeEventOf<'NODE_RETRIED'>, { ref, before, stamp }: NodeChange): void {
  const open = requireOpenNode(before, event.attempt, ref);
  countExecution(state);
  countTokens(state, event);
  if (event.delayMs > 0 && open.step?.kind !== 'workflow_task') recordWaitEnd(state, event.retryAt);
  setOpenNode(state, {
    ...dispatchRecordOf(open),
    ...(open.step !== undefined && event.failure.cause === 'lost' ? { lostAttempts: (open.lostAttempts ?? 0) + 1 } : {}),
    attempt: attempt(event.attempt + 1),
    via: event.via,
    dispatchedIn: stamp.commit,
    dispatchedAt: stamp.at,
    status: 'queued',
    notBefore: event.retryAt,
  });
}

function completeNode(state: RunState, event: NodeEventOf<'NODE_COMPLETED'>, { ref, before, id }: NodeChange): void {
  countTokens(state, event);
  setEndedNode(
    state,
    defined({
      ...ref,
      status: 'completed',
      attempt: event.attempt,
      startedAt: event.startedAt,
      endedAt: event.endedAt,
      endedBy: id,
      handle: event.handle,
      output: event.output,
      variable: event.variable,
      end: event.end,
      ...signalFieldOf(before),
      ...endedFieldsOf(before),
    }),
  );
  if (event.variable !== undefined) writeContext(state, event.iteration, event.variable, id, event.output);
}

function failNode(state: RunState, event: NodeEventOf<'NODE_FAILED'>, { ref, before, id }: NodeChange): void {
  countTokens(state, event);
  setEndedNode(state, {
    ...ref,
    status: event.failure.cause === 'timeout' ? 'timed_out' : 'failed',
    attempt: event.attempt,
    startedAt: event.startedAt,
    endedAt: event.endedAt,
    endedBy: id,
    failure: event.failure,
    isHandled: event.handle === 'error',
    ...endedFieldsOf(before),
  });
  if (event.variable !== undefined)
    writeContext(state, event.iteration, event.variable, id, { value: failureValue(event.failure, event.attempt) });
}

const signalFieldOf = (before: NodeState | undefined): { readonly signalId?: SignalId } =>
  before?.status === 'waiting' && before.for === 'signal' && before.signalId !== undefined ? { signalId: before.signalId } : {};

/** Fields of an open node that its ended state keeps. */
const endedFieldsOf = (before: NodeState | undefined) => ({
  ...childRunFieldOf(before),
  ...iterationsFieldOf(before),
  ...stepFieldsOf(before),
});

const stepFieldsOf = (before: NodeState | undefined): EndedStep =>
  before !== undefined && isOpen(before) && before.step !== undefined ? { step: before.step, begunBy: before.pinnedAt } : {};

const childRunFieldOf = (before: NodeState | undefined): { readonly childRunId?: RunId } =>
  before?.status === 'waiting' && before.for === 'child' ? { childRunId: before.childRunId } : {};

const iterationsFieldOf = (before: NodeState | undefined): { readonly iterations?: IterationCounts } =>
  before?.status === 'waiting' && before.for === 'iterations' ? { iterations: iterationCountsOf(before.loop) } : {};

/** The context value for the error branch of a failed node. */
const failureValue = (failure: Failure, attempts: Attempt) => ({
  success: false,
  error: { cause: failure.cause, message: failure.message, attempts },
});

/** One event ends the run and cancels every open node. */
function endRun(state: RunState, id: EventId, stamp: Stamp, progress: RunProgress): void {
  cancelOpenNodes(state, id, stamp, () => true);
  state.progress = progress;
}

function cancelOpenNodes(state: RunState, id: EventId, stamp: Stamp, shouldCancel: (node: OpenNode) => boolean): void {
  for (const node of openNodes(state).filter(shouldCancel)) {
    setEndedNode(
      state,
      defined({
        nodeId: node.nodeId,
        iteration: node.iteration,
        attempt: node.attempt,
        status: 'cancelled',
        endedAt: stamp.at,
        endedBy: id,
        startedAt: node.status === 'running' ? node.startedAt : undefined,
        ...endedFieldsOf(node),
      }),
    );
  }
}

/** The current attempt of a node, or the first if it has not begun. */
export const attemptOf = (node: NodeState | undefined): Attempt =>
  node === undefined || node.status === 'skipped' ? firstAttempt : node.attempt;
