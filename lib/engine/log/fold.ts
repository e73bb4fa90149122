/**
 * The fold: commits in, state out. The same log folds to the same state, always. It needs no definition,
 * no clock and no configuration, so that every reader of a log, now and years later, sees the same run.
 */
import {
  type Attempt,
  type CommitNo,
  type EventId,
  type NodeKey,
  type NodeRef,
  type SignalId,
  attempt,
  commitNo,
  eventId,
  firstAttempt,
  nodeKey,
} from '../ids.ts';
import { invariant, unreachable } from '../invariant.ts';
import type { Payload } from '../json.ts';
import type { Instant } from '../time.ts';
import { type Commit, nextCommitNo } from './commit.ts';
import type { Failure, RunEvent } from './events.ts';
import { LayeredMap } from './layered-map.ts';
import { type Dispatched, type NodeState, type OpenNode, isOpen } from './node-state.ts';

/** Raised when a stored fold would mean something else than the same log folded anew. */
export const foldSchema = 3;

/** One writing of a context key: what a view as of a later event sees. */
export interface Written {
  readonly by: EventId;
  readonly payload: Payload;
}

export type RunProgress =
  | { readonly status: 'pending' }
  | { readonly status: 'running'; readonly startedAt: Instant }
  | { readonly status: 'completed'; readonly endedAt: Instant; readonly output: Payload }
  | { readonly status: 'failed'; readonly endedAt: Instant; readonly error: Failure }
  | { readonly status: 'cancelled'; readonly endedAt: Instant; readonly reason?: string };

export interface RunState {
  /** the last commit folded; 0 before the first */
  asOf: CommitNo | 0;
  nextEventId: EventId;
  progress: RunProgress;
  readonly nodes: LayeredMap<NodeKey, NodeState>;
  /** the nodes that have begun and not ended */
  readonly open: LayeredMap<NodeKey, true>;
  readonly written: LayeredMap<string, readonly Written[]>;
}

export const emptyState = (): RunState => ({
  asOf: 0,
  nextEventId: eventId(1),
  progress: { status: 'pending' },
  nodes: new LayeredMap(),
  open: new LayeredMap(),
  written: new LayeredMap(),
});

/** A copy in constant time whose changes do not reach the original. */
export const fork = (state: RunState): RunState => ({
  ...state,
  nodes: state.nodes.fork(),
  open: state.open.fork(),
  written: state.written.fork(),
});

export const isTerminal = (progress: RunProgress): progress is Exclude<RunProgress, { status: 'pending' | 'running' }> =>
  progress.status !== 'pending' && progress.status !== 'running';

/** Which commit and when: what the events of one commit share. */
export interface Stamp {
  readonly commit: CommitNo;
  readonly at: Instant;
}

/** Folds the next commit into the state. The commit must be the next one, and nothing may follow an ending. */
export function applyCommit(state: RunState, commit: Commit): void {
  const expected = state.asOf === 0 ? commitNo(1) : nextCommitNo(state.asOf);
  invariant(commit.number === expected, `commit ${commit.number} cannot follow commit ${state.asOf}`);
  invariant(
    commit.firstEventId === state.nextEventId,
    `commit ${commit.number} begins with event ${commit.firstEventId}, not ${state.nextEventId}`,
  );
  for (const event of commit.events) applyEvent(state, event, { commit: commit.number, at: commit.at });
  state.asOf = commit.number;
}

/** Folds one event; its id is the state's next. */
export function applyEvent(state: RunState, event: RunEvent, stamp: Stamp): void {
  invariant(!isTerminal(state.progress), `${event.type} after the run had ended as ${state.progress.status}`);
  const id = state.nextEventId;
  if ('nodeId' in event) applyNodeEvent(state, event, stamp);
  else applyRunEvent(state, event, stamp);
  state.nextEventId = eventId(id + 1);
}

type NodeEvent = Extract<RunEvent, { nodeId: unknown }>;

function applyRunEvent(state: RunState, event: Exclude<RunEvent, NodeEvent>, stamp: Stamp): void {
  const id = state.nextEventId;
  switch (event.type) {
    case 'INPUT_SET':
      write(state, 'input', id, event.input);
      break;
    case 'SYSTEM_SET':
      write(state, event.key, id, event.value);
      break;
    case 'RUN_STARTED':
    case 'RUN_RESUMED':
    case 'RUN_RECOVERED':
      break;
    case 'RUN_STATUS_CHANGED':
      if (event.status === 'running') state.progress = { status: 'running', startedAt: stamp.at };
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
  invariant(before === undefined || isOpen(before), `${event.type} of ${nodeKey(ref)}, which had ended as ${before?.status}`);
  if (before !== undefined && event.type !== 'NODE_DISPATCHED' && event.type !== 'NODE_SKIPPED')
    running(before, event.attempt, ref);
  switch (event.type) {
    case 'NODE_DISPATCHED':
      invariant(before === undefined, `${nodeKey(ref)} was dispatched twice`);
      put(state, {
        ...dispatched(ref, event.attempt, event.via, event.wave, id, stamp),
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
        ...parked(before, ref, event.attempt, id, stamp),
        status: 'waiting',
        for: 'time',
        wakeAt: event.wakeAt,
        output: event.output,
      });
      break;
    case 'SIGNAL_AWAITED':
      put(state, {
        ...parked(before, ref, event.attempt, id, stamp),
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
      invariant(open.status === 'waiting' && open.for === 'signal', `${nodeKey(ref)} was given a signal and awaited none`);
      put(state, { ...open, signalId: event.signalId });
      break;
    }
    case 'NODE_WOKEN': {
      const open = running(before, event.attempt, ref);
      invariant(open.status === 'waiting' && open.for === 'time', `${nodeKey(ref)} was woken and did not sleep`);
      break;
    }
    case 'CONTRACT_VIOLATED':
    case 'MODERATION_FLAGGED':
      break;
    case 'NODE_RETRIED': {
      const open = running(before, event.attempt, ref);
      put(state, {
        ...base(open),
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
      });
      if (event.variable !== undefined) write(state, event.variable, id, event.output);
      break;
    case 'NODE_FAILED':
      end(state, {
        ...ref,
        status: event.failure.cause === 'timeout' ? 'timed_out' : 'failed',
        attempt: event.attempt,
        startedAt: event.startedAt,
        endedAt: event.endedAt,
        endedBy: id,
        failure: event.failure,
        isHandled: event.handle === 'error',
      });
      if (event.variable !== undefined) write(state, event.variable, id, { value: failureValue(event.failure, event.attempt) });
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

/** A node that begins to wait: from here on the commit that says so is what its timer names. */
const parked = (before: NodeState | undefined, ref: NodeRef, attempt: Attempt, id: EventId, stamp: Stamp): Dispatched => ({
  ...(before === undefined ? dispatched(ref, attempt, 'inline', 0, id, stamp) : base(running(before, attempt, ref))),
  dispatchedIn: stamp.commit,
  dispatchedAt: stamp.at,
});

/** What the error branch of a failed node finds under the node's output variable. */
const failureValue = (failure: Failure, attempts: Attempt) => ({
  success: false,
  error: { cause: failure.cause, message: failure.message, attempts },
});

const dispatched = (
  ref: NodeRef,
  attempt: Attempt,
  via: Dispatched['via'],
  wave: number,
  id: EventId,
  stamp: Stamp,
): Dispatched => ({
  ...ref,
  attempt,
  via,
  wave,
  dispatchedIn: stamp.commit,
  dispatchedAt: stamp.at,
  pinnedAt: id,
});

const base = ({ nodeId, iteration, attempt, via, wave, dispatchedIn, dispatchedAt, pinnedAt }: OpenNode): Dispatched => ({
  nodeId,
  iteration,
  attempt,
  via,
  wave,
  dispatchedIn,
  dispatchedAt,
  pinnedAt,
});

function running(node: NodeState | undefined, attempt: Attempt, ref: NodeRef): OpenNode {
  invariant(node !== undefined && isOpen(node), `${nodeKey(ref)} has not begun`);
  invariant(node.attempt === attempt, `${nodeKey(ref)} is at attempt ${node.attempt}, not ${attempt}`);
  return node;
}

function put(state: RunState, node: OpenNode): void {
  const key = nodeKey(node);
  state.nodes.set(key, node);
  state.open.set(key, true);
}

function end(state: RunState, node: Exclude<NodeState, OpenNode>): void {
  const key = nodeKey(node);
  state.nodes.set(key, node);
  state.open.delete(key);
}

function write(state: RunState, key: string, by: EventId, payload: Payload): void {
  state.written.set(key, [...(state.written.get(key) ?? []), { by, payload }]);
}

/** One event ends the run; what was still open is cancelled by it. */
function endRun(state: RunState, id: EventId, stamp: Stamp, progress: RunProgress): void {
  for (const key of state.open.keys()) {
    const node = state.nodes.get(key);
    invariant(node !== undefined && isOpen(node), `${key} is open and has no state`);
    end(state, {
      nodeId: node.nodeId,
      iteration: node.iteration,
      attempt: node.attempt,
      status: 'cancelled',
      endedAt: stamp.at,
      endedBy: id,
      ...(node.status === 'running' ? { startedAt: node.startedAt } : {}),
    });
  }
  state.progress = progress;
}

/** The attempt a node is at, or the first where it has not begun. */
export const attemptOf = (node: NodeState | undefined): Attempt =>
  node === undefined || node.status === 'skipped' ? firstAttempt : node.attempt;
