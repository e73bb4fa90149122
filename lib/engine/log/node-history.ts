/** The attempts of one node in one iteration, from the events of its run. */
import { defined } from '../../base/defined.ts';
import type { StepInfo } from '../durable/step.ts';
import { type EventId, type NodeId, type NodeRef, attempt, eventId } from '../ids.ts';
import type { Instant } from '../time.ts';
import type { Commit } from './commit.ts';
import type { Failure, RunEvent, TokenCount } from './events.ts';
import { type NodeState, isOpen } from './node-state.ts';

type AttemptStatus = 'queued' | 'running' | 'waiting' | 'completed' | 'failed' | 'timed_out' | 'cancelled';

export interface NodeAttempt {
  readonly number: number;
  readonly status: AttemptStatus;
  /** of the first attempt: its dispatch; of a later one: the end of the attempt before */
  readonly queuedAt?: Instant;
  readonly startedAt?: Instant;
  readonly endedAt?: Instant;
  readonly failure?: Failure;
  /** when the next attempt begins */
  readonly retryAt?: Instant;
  readonly printed?: readonly string[];
  readonly tokens?: TokenCount;
  /** the event that ended it */
  readonly endedBy?: EventId;
}

type NodeEvent = Extract<RunEvent, { nodeId: unknown }>;

const ended: ReadonlySet<RunEvent['type']> = new Set(['NODE_COMPLETED', 'NODE_FAILED', 'NODE_SKIPPED']);

export class NodeHistory {
  readonly #ref: NodeRef;
  readonly #attempts = new Map<number, NodeAttempt>();
  #step: StepInfo | undefined;
  #last: NodeState | undefined;
  #isKnown = false;

  constructor({ nodeId, iteration }: NodeRef) {
    this.#ref = { nodeId, iteration };
  }

  /** Whether an event names the node. */
  get isKnown(): boolean {
    return this.#isKnown;
  }

  /** Whether the node has ended. No event names it after that. */
  get hasEnded(): boolean {
    return this.#last !== undefined;
  }

  /** How the node ended, as far as events say it. */
  get lastState(): NodeState | undefined {
    return this.#last;
  }

  names(event: RunEvent): event is NodeEvent {
    return 'nodeId' in event && event.nodeId === this.#ref.nodeId && event.iteration === this.#ref.iteration;
  }

  add(commit: Commit): void {
    for (const [index, event] of commit.events.entries())
      if (this.names(event)) this.#take(event, commit.at, eventId(commit.firstEventId + index));
  }

  /** @param state of the node now: an open attempt has its status, and the end of the run cancels the last one */
  attempts(state: NodeState | undefined): readonly NodeAttempt[] {
    const all = [...this.#attempts.values()];
    const last = all.at(-1);
    if (state === undefined || last === undefined || last.endedAt !== undefined) return all;
    if (isOpen(state)) {
      const startedAt = state.status === 'running' ? state.startedAt : last.startedAt;
      return [...all.slice(0, -1), defined({ ...last, status: state.status, startedAt })];
    }
    if (state.status !== 'cancelled') return all;
    return [...all.slice(0, -1), { ...last, status: 'cancelled', endedAt: state.endedAt }];
  }

  /** The node of a code run: its step. */
  stepNode(id: NodeId): { readonly id: NodeId; readonly type: string; readonly label?: string } {
    return this.#step === undefined ? { id, type: 'step' } : { id, type: this.#step.kind, label: this.#step.key };
  }

  #take(event: NodeEvent, at: Instant, id: EventId): void {
    this.#isKnown = true;
    if ('step' in event && event.step !== undefined) this.#step = event.step;
    if (ended.has(event.type)) this.#last = endStateOf(event, at, id);
    if (!('attempt' in event)) return;
    const before = this.#attempts.get(event.attempt) ?? { number: event.attempt, status: 'queued', queuedAt: at };
    const after = attemptAfter(before, event, id);
    this.#attempts.set(event.attempt, after);
    if (event.type === 'NODE_RETRIED')
      this.#attempts.set(event.attempt + 1, { number: attempt(event.attempt + 1), status: 'queued', queuedAt: event.endedAt });
  }
}

const waits: ReadonlySet<RunEvent['type']> = new Set(['SLEEP_STARTED', 'SIGNAL_AWAITED', 'SUBFLOW_CALLED', 'LOOP_STARTED']);

function attemptAfter(before: NodeAttempt, event: NodeEvent, id: EventId): NodeAttempt {
  switch (event.type) {
    case 'NODE_STARTED':
      return { ...before, status: 'running', startedAt: event.startedAt };
    case 'NODE_COMPLETED':
      return { ...endedAttempt(before, event, id), status: 'completed' };
    case 'NODE_FAILED':
      return {
        ...endedAttempt(before, event, id),
        status: event.failure.cause === 'timeout' ? 'timed_out' : 'failed',
        failure: event.failure,
      };
    case 'NODE_RETRIED':
      return { ...endedAttempt(before, event, id), status: 'failed', failure: event.failure, retryAt: event.retryAt };
    default:
      return waits.has(event.type) ? { ...before, status: 'waiting' } : before;
  }
}

const endedAttempt = (
  before: NodeAttempt,
  { startedAt, endedAt, printed, tokens }: Extract<RunEvent, { type: 'NODE_COMPLETED' | 'NODE_FAILED' | 'NODE_RETRIED' }>,
  endedBy: EventId,
): NodeAttempt => defined({ ...before, startedAt, endedAt, printed, tokens, endedBy });

/** The node's state after its last event, for a node whose iteration the fold has dropped. */
function endStateOf(event: NodeEvent, at: Instant, endedBy: EventId): NodeState | undefined {
  switch (event.type) {
    case 'NODE_COMPLETED': {
      const { nodeId, iteration, attempt: number, startedAt, endedAt, handle, output } = event;
      return { nodeId, iteration, status: 'completed', attempt: number, startedAt, endedAt, endedBy, handle, output };
    }
    case 'NODE_FAILED': {
      const { nodeId, iteration, attempt: number, startedAt, endedAt, failure } = event;
      const status = failure.cause === 'timeout' ? 'timed_out' : 'failed';
      const isHandled = event.handle === 'error';
      return { nodeId, iteration, status, attempt: number, startedAt, endedAt, endedBy, failure, isHandled };
    }
    case 'NODE_SKIPPED': {
      const { nodeId, iteration, reason } = event;
      return { nodeId, iteration, status: 'skipped', reason, endedAt: at, endedBy };
    }
    default:
      return undefined;
  }
}
