/**
 * The fold: commits in, state out. The same log folds to the same state, always. It needs no definition,
 * no clock and no configuration, so that every reader of a log, now and years later, sees the same run.
 */
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
import { invariant, unreachable } from '../invariant.ts';
import { type Commit, nextCommitNo } from './commit.ts';
import { base, dispatched, parked } from './dispatched.ts';
import type { Failure, RunEvent } from './events.ts';
import { type LoopEvent, applyLoopEvent, isOfLoop } from './fold-loop.ts';
import { beginRollback, countStep, retryCode } from './fold-code.ts';
import { countsOf } from './loop-state.ts';
import { type EndedStep, type NodeState, type OpenNode, isOpen } from './node-state.ts';
import {
  type RunProgress,
  type RunState,
  type Stamp,
  countExecution,
  countTokens,
  dropPassesOf,
  end,
  isTerminal,
  put,
  openNodes,
  running,
  waitsForPlace,
  write,
} from './run-state.ts';

export {
  type Admission,
  type RunProgress,
  type RunState,
  type Spent,
  type Written,
  emptyState,
  fork,
  isTerminal,
  openNodes,
  waitsForPlace,
} from './run-state.ts';

/** Raised when a stored fold would mean something else than the same log folded anew. */
export const foldSchema = 6;

/** Folds the next commit into the state. The commit must be the next one, and nothing may follow an ending. */
export function applyCommit(state: RunState, commit: Commit): void {
  const expected = state.asOf === 0 ? commitNo(1) : nextCommitNo(state.asOf);
  invariant(commit.number === expected, () => `commit ${commit.number} cannot follow commit ${state.asOf}`);
  invariant(
    commit.firstEventId === state.nextEventId,
    () => `commit ${commit.number} begins with event ${commit.firstEventId}, not ${state.nextEventId}`,
  );
  for (const event of commit.events) applyEvent(state, event, { commit: commit.number, at: commit.at });
  state.asOf = commit.number;
}

/** Folds one event; its id is the state's next. */
export function applyEvent(state: RunState, event: RunEvent, stamp: Stamp): void {
  invariant(!isTerminal(state.progress), () => `${event.type} after the run had ended as ${state.progress.status}`);
  const id = state.nextEventId;
  if (isOfLoop(event)) applyLoopEvent(state, event, stamp);
  else if ('nodeId' in event) applyNodeEvent(state, event, stamp);
  else applyRunEvent(state, event, stamp);
  state.nextEventId = eventId(id + 1);
}

type NodeEvent = Exclude<Extract<RunEvent, { nodeId: unknown }>, LoopEvent>;

function applyRunEvent(state: RunState, event: Exclude<RunEvent, NodeEvent | LoopEvent>, stamp: Stamp): void {
  const id = state.nextEventId;
  switch (event.type) {
    case 'INPUT_SET':
      write(state, topLevel, 'input', id, event.input);
      break;
    case 'SYSTEM_SET':
      write(state, topLevel, event.key, id, event.value);
      break;
    case 'RUN_STARTED':
    case 'RUN_RESUMED':
    case 'RUN_RECOVERED':
      break;
    case 'PLACE_AWAITED': {
      const { places, notBefore } = event;
      state.admission = { places, since: notBefore ?? stamp.at, ...(notBefore === undefined ? {} : { notBefore }) };
      break;
    }
    case 'PLACE_TAKEN':
      invariant(state.admission !== undefined && waitsForPlace(state), 'a place was taken that nobody waited for');
      state.admission = { ...state.admission, place: event.place };
      break;
    case 'RUN_STATUS_CHANGED':
      if (event.status === 'running') state.progress = { status: 'running', startedAt: stamp.at };
      break;
    case 'RUN_RETRIED':
      retryCode(state, event, id);
      break;
    case 'ROLLBACK_STARTED':
      cancelOpen(state, id, stamp, (node) => node.step?.kind !== 'drive');
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
      endRun(state, id, stamp, {
        status: 'cancelled',
        endedAt: stamp.at,
        ...(event.reason === undefined ? {} : { reason: event.reason }),
      });
      break;
    default:
      unreachable(event);
  }
}

function applyNodeEvent(state: RunState, event: NodeEvent, stamp: Stamp): void {
  const id = state.nextEventId;
  const ref: NodeRef = { nodeId: event.nodeId, iteration: event.iteration };
  const before = state.nodes.get(nodeKey(ref));
  invariant(
    before === undefined || isOpen(before),
    () => `${event.type} of ${nodeKey(ref)}, which had ended as ${before?.status}`,
  );
  if (before !== undefined && event.type !== 'NODE_DISPATCHED' && event.type !== 'NODE_SKIPPED')
    running(before, event.attempt, ref);
  countStep(state, event, before);
  if (before !== undefined && (event.type === 'NODE_COMPLETED' || event.type === 'NODE_FAILED')) dropPassesOf(state, before);
  switch (event.type) {
    case 'NODE_DISPATCHED':
      invariant(before === undefined, () => `${nodeKey(ref)} was dispatched twice`);
      if (event.isPure !== true && event.step?.kind !== 'drive') countExecution(state);
      put(state, {
        ...dispatched(ref, event.attempt, event.via, event.wave, id, stamp, event.step),
        status: 'queued',
        ...(event.notBefore === undefined ? {} : { notBefore: event.notBefore }),
      });
      break;
    case 'NODE_STARTED': {
      const open = running(before, event.attempt, ref);
      put(state, { ...base(open), status: 'running', startedAt: event.startedAt });
      break;
    }
    case 'SLEEP_STARTED':
      put(state, {
        ...parked(before, ref, event, id, stamp),
        status: 'waiting',
        for: 'time',
        wakeAt: event.wakeAt,
        output: event.output,
      });
      break;
    case 'SIGNAL_AWAITED':
      put(state, {
        ...parked(before, ref, event, id, stamp),
        status: 'waiting',
        for: 'signal',
        name: event.name,
        correlation: event.correlation,
        ...(event.expiresAt === undefined ? {} : { expiresAt: event.expiresAt }),
        ...(event.expiryHandle === undefined ? {} : { expiryHandle: event.expiryHandle }),
      });
      break;
    case 'SIGNAL_RECEIVED': {
      const open = running(before, event.attempt, ref);
      invariant(open.status === 'waiting' && open.for === 'signal', () => `${nodeKey(ref)} was given a signal and awaited none`);
      put(state, { ...open, signalId: event.signalId });
      break;
    }
    case 'SUBFLOW_CALLED': {
      const { childRunId, workflowName, input, whenLeft, whenCancelled } = event;
      // Another call was asked for, and counted, as a repetition.
      if (event.attempt === firstAttempt) countExecution(state);
      put(state, {
        ...parked(before, ref, event, id, stamp),
        status: 'waiting',
        for: 'child',
        childRunId,
        workflowName,
        ...(event.version === undefined ? {} : { version: event.version }),
        input,
        ...(event.expiresAt === undefined ? {} : { expiresAt: event.expiresAt }),
        whenLeft,
        whenCancelled,
      });
      break;
    }
    case 'NODE_WOKEN': {
      const open = running(before, event.attempt, ref);
      invariant(open.status === 'waiting' && open.for === 'time', () => `${nodeKey(ref)} was woken and did not sleep`);
      break;
    }
    case 'CONTRACT_VIOLATED':
    case 'MODERATION_FLAGGED':
      break;
    case 'NODE_RETRIED': {
      const open = running(before, event.attempt, ref);
      countExecution(state);
      countTokens(state, event);
      put(state, {
        ...base(open),
        ...(open.step !== undefined && event.failure.cause === 'lost' ? { lost: (open.lost ?? 0) + 1 } : {}),
        attempt: attempt(event.attempt + 1),
        via: event.via,
        dispatchedIn: stamp.commit,
        dispatchedAt: stamp.at,
        status: 'queued',
        notBefore: event.retryAt,
      });
      break;
    }
    case 'NODE_COMPLETED':
      countTokens(state, event);
      end(state, {
        ...ref,
        status: 'completed',
        attempt: event.attempt,
        startedAt: event.startedAt,
        endedAt: event.endedAt,
        endedBy: id,
        handle: event.handle,
        output: event.output,
        ...(event.variable === undefined ? {} : { variable: event.variable }),
        ...(event.end === undefined ? {} : { end: event.end }),
        ...signalOf(before),
        ...endingOf(before),
      });
      if (event.variable !== undefined) write(state, event.iteration, event.variable, id, event.output);
      break;
    case 'NODE_FAILED':
      countTokens(state, event);
      end(state, {
        ...ref,
        status: event.failure.cause === 'timeout' ? 'timed_out' : 'failed',
        attempt: event.attempt,
        startedAt: event.startedAt,
        endedAt: event.endedAt,
        endedBy: id,
        failure: event.failure,
        isHandled: event.handle === 'error',
        ...endingOf(before),
      });
      if (event.variable !== undefined)
        write(state, event.iteration, event.variable, id, { value: failureValue(event.failure, event.attempt) });
      break;
    case 'NODE_SKIPPED':
      end(state, { ...ref, status: 'skipped', reason: event.reason, endedAt: stamp.at, endedBy: id });
      break;
    default:
      unreachable(event);
  }
}

const signalOf = (before: NodeState | undefined): { readonly signalId?: SignalId } =>
  before?.status === 'waiting' && before.for === 'signal' && before.signalId !== undefined ? { signalId: before.signalId } : {};

/** What of an open node outlives its end. */
const endingOf = (before: NodeState | undefined) => ({ ...childOf(before), ...passesOf(before), ...stepOf(before) });

const stepOf = (before: NodeState | undefined): EndedStep =>
  before !== undefined && isOpen(before) && before.step !== undefined ? { step: before.step, begunBy: before.pinnedAt } : {};

const childOf = (before: NodeState | undefined): { readonly childRunId?: RunId } =>
  before?.status === 'waiting' && before.for === 'child' ? { childRunId: before.childRunId } : {};

const passesOf = (before: NodeState | undefined) =>
  before?.status === 'waiting' && before.for === 'passes' ? { passes: countsOf(before.loop) } : {};

/** What the error branch of a failed node finds under the node's output variable. */
const failureValue = (failure: Failure, attempts: Attempt) => ({
  success: false,
  error: { cause: failure.cause, message: failure.message, attempts },
});

/** One event ends the run; what was still open is cancelled by it. */
function endRun(state: RunState, id: EventId, stamp: Stamp, progress: RunProgress): void {
  cancelOpen(state, id, stamp, () => true);
  state.progress = progress;
}

function cancelOpen(state: RunState, id: EventId, stamp: Stamp, isMeant: (node: OpenNode) => boolean): void {
  for (const node of openNodes(state).filter(isMeant)) {
    end(state, {
      nodeId: node.nodeId,
      iteration: node.iteration,
      attempt: node.attempt,
      status: 'cancelled',
      endedAt: stamp.at,
      endedBy: id,
      ...(node.status === 'running' ? { startedAt: node.startedAt } : {}),
      ...endingOf(node),
    });
  }
}

/** The attempt a node is at, or the first where it has not begun. */
export const attemptOf = (node: NodeState | undefined): Attempt =>
  node === undefined || node.status === 'skipped' ? firstAttempt : node.attempt;
