/**
 * Fetch runs: facts in, events out. The code of a deployment decides what the run does; what is decided here is which
 * messages it still has to be given, and how the run ends.
 */
import type { Fact } from '../graph/facts.ts';
import { type Attempt, type NodeId, type NodeRef, commitNo, firstAttempt, nodeKey, topLevel } from '../ids.ts';
import { type JsonValue, type Payload, inline } from '../json.ts';
import type { Failure, RunEvent } from '../log/events.ts';
import { type RunState, applyEvent, emptyState, fork, isTerminal } from '../log/fold.ts';
import type { OpenNode } from '../log/node-state.ts';
import { wantedNode } from '../log/wanted-node.ts';
import { deadlineExceeded } from '../retry/deadline.ts';
import { type DurationMs, type Instant, after, durationMs } from '../time.ts';
import { type Message, isStepMessage, messageKey, storedMessage } from './message.ts';
import type { Verdict } from './verdict.ts';

export interface NewMessage {
  readonly id: NodeId;
  readonly message: Message;
}

export type FetchFact =
  | Extract<Fact, { kind: 'node-started' | 'node-lost' | 'cancel-requested' | 'deadline-passed' | 'recovered' }>
  /** somebody sends the run a message; one of an id that it knows changes nothing */
  | { readonly kind: 'message-sent'; readonly sent: NewMessage; readonly notBefore?: Instant }
  /** somebody outside wants the run to go on, and says why */
  | {
      readonly kind: 'resumed';
      readonly sent: NewMessage;
      readonly reason?: string;
      readonly payload?: Payload;
      readonly token?: string;
    }
  | {
      readonly kind: 'message-answered';
      readonly node: NodeRef;
      readonly attempt: Attempt;
      readonly verdict: Verdict;
      /** what is sent again, where the verdict asks for it */
      readonly again: NewMessage;
      /** for the run's workflow: that this message of a step could not be loaded */
      readonly notice?: NewMessage;
      readonly startedAt: Instant;
      readonly endedAt: Instant;
    };

export interface FetchTools {
  readonly now: Instant;
  readonly deadlineAt: Instant;
  /** a number from 0 up to 1, for jitter */
  readonly chance: () => number;
}

interface Draft {
  readonly state: RunState;
  readonly events: RunEvent[];
  readonly tools: FetchTools;
}

/** The code's own limit comes first: DevKit gives up a message at its 49th delivery. */
export const mostDeliveries = 50;
/** An artifact that cannot be loaded now will hardly be loaded later. */
const mostLoads = 5;
const longestBackoffMs = 900_000;
/** A quarter of the wait is left to chance, so that what failed together does not come back together. */
const jitter = 0.25;

const openDraft = (state: RunState, tools: FetchTools): Draft => ({ state: fork(state), events: [], tools });

function emit({ state, events, tools }: Draft, event: RunEvent): void {
  applyEvent(state, event, { commit: commitNo(state.asOf + 1), at: tools.now });
  events.push(event);
}

/** The first commit: the input, and the first message on its way. */
export function decideFetchStart(
  input: Payload,
  system: Readonly<Record<string, JsonValue>>,
  first: NewMessage,
  tools: FetchTools,
  notBefore?: Instant,
): readonly RunEvent[] {
  const draft = openDraft(emptyState(), tools);
  emit(draft, { type: 'INPUT_SET', input });
  for (const [key, value] of Object.entries(system)) emit(draft, { type: 'SYSTEM_SET', key, value: { value } });
  emit(draft, { type: 'RUN_STARTED' });
  send(draft, first, notBefore);
  return draft.events;
}

/**
 * What follows from these facts, in their order. No event: nothing is to be committed.
 * After the deadline each fact ends the run: nothing is sent or completed then.
 */
export function decideFetch(state: RunState, facts: readonly FetchFact[], tools: FetchTools): readonly RunEvent[] {
  const draft = openDraft(state, tools);
  if (facts.length > 0 && tools.now >= tools.deadlineAt && !isTerminal(state.progress)) timeOut(draft);
  for (const fact of facts) {
    if (isTerminal(draft.state.progress)) break;
    decideOne(draft, fact);
  }
  return draft.events;
}

function decideOne(draft: Draft, fact: FetchFact): void {
  switch (fact.kind) {
    case 'message-sent':
      if (isKnown(draft, fact.sent)) return;
      return send(draft, fact.sent, fact.notBefore);
    case 'resumed': {
      if (isKnown(draft, fact.sent)) return;
      const { reason, payload, token } = fact;
      emit(draft, {
        type: 'RUN_RESUMED',
        ...(reason === undefined ? {} : { reason }),
        ...(payload === undefined ? {} : { payload }),
        ...(token === undefined ? {} : { token }),
      });
      return send(draft, fact.sent);
    }
    case 'node-started':
      if (wanted(draft, fact.node, fact.attempt)?.status !== 'queued') return;
      run(draft);
      return emit(draft, { type: 'NODE_STARTED', ...fact.node, attempt: fact.attempt, startedAt: fact.startedAt });
    case 'message-answered':
      return answered(draft, fact);
    case 'node-lost': {
      const open = wanted(draft, fact.node, fact.attempt);
      if (open === undefined) return;
      run(draft);
      return giveUp(draft, fact, fact.failure, { startedAt: draft.tools.now, endedAt: draft.tools.now });
    }
    case 'cancel-requested':
      emit(draft, { type: 'RUN_STATUS_CHANGED', status: 'cancelled' });
      return emit(draft, { type: 'RUN_CANCELLED', ...(fact.reason === undefined ? {} : { reason: fact.reason }) });
    case 'deadline-passed':
      // Too early: a deadline that has passed has ended the run before.
      return;
    case 'recovered':
      if (fact.nodes.length > 0) emit(draft, { type: 'RUN_RECOVERED', nodes: fact.nodes });
  }
}

function timeOut(draft: Draft): void {
  emit(draft, { type: 'RUN_STATUS_CHANGED', status: 'failed' });
  emit(draft, { type: 'RUN_TIMED_OUT', error: deadlineExceeded });
}

type Times = { readonly startedAt: Instant; readonly endedAt: Instant };

type Answered = Extract<FetchFact, { kind: 'message-answered' }>;

function answered(draft: Draft, fact: Answered): void {
  if (wanted(draft, fact.node, fact.attempt) === undefined) return;
  run(draft);
  const { verdict, startedAt, endedAt } = fact;
  if (verdict.kind === 'failed') return tryAgain(draft, fact, verdict.failure);
  emit(draft, {
    type: 'NODE_COMPLETED',
    ...fact.node,
    attempt: fact.attempt,
    output: inline(null),
    handle: null,
    startedAt,
    endedAt,
  });
  switch (verdict.kind) {
    case 'done':
      return;
    case 'again':
      return send(draft, fact.again, verdict.afterMs === 0 ? undefined : after(endedAt, verdict.afterMs));
    case 'run-completed':
      emit(draft, { type: 'RUN_STATUS_CHANGED', status: 'completed' });
      return emit(draft, { type: 'RUN_COMPLETED', output: inline(verdict.output) });
    case 'run-failed':
      return endAsFailed(draft, verdict.failure);
  }
}

function tryAgain(draft: Draft, fact: Answered, failure: Failure): void {
  const times = { startedAt: fact.startedAt, endedAt: fact.endedAt };
  const limit = failure.code === 'artifact_unusable' ? mostLoads : mostDeliveries;
  const delayMs = backoff(fact.attempt, draft.tools.chance());
  const retryAt = after(draft.tools.now, delayMs);
  if (fact.attempt >= limit || retryAt > draft.tools.deadlineAt) {
    if (failure.code === 'artifact_unusable' && isStepMessage(fact.node.nodeId)) return giveUpStep(draft, fact, failure, times);
    return giveUp(draft, fact, failure, times);
  }
  emit(draft, {
    type: 'NODE_RETRIED',
    ...fact.node,
    attempt: fact.attempt,
    failure,
    delayMs,
    retryAt,
    ...times,
    via: 'queue',
  });
}

/** 1, 2, 4 … seconds, at most 15 minutes, less up to a quarter, in whole milliseconds. */
const backoff = (attempt: Attempt, chance: number): DurationMs =>
  durationMs(Math.round(Math.min(longestBackoffMs, 1_000 * 2 ** (attempt - 1)) * (1 - jitter * chance)));

/** A message that cannot be delivered ends the run: nobody else knows what it was to do. */
function giveUp(
  draft: Draft,
  { node, attempt }: { readonly node: NodeRef; readonly attempt: Attempt },
  failure: Failure,
  times: Times,
): void {
  emit(draft, { type: 'NODE_FAILED', ...node, attempt, failure, ...times });
  const isNamed = failure.code === 'artifact_unusable' || failure.cause === 'lost';
  endAsFailed(draft, {
    ...failure,
    code: isNamed && failure.code !== undefined ? failure.code : 'delivery_failed',
    message: `message ${node.nodeId} was given up after ${attempt} attempts: ${failure.message}`,
    details: { messageId: node.nodeId },
  });
}

/** A step whose code cannot be loaded ends its message alone: the workflow's own code is another bundle, and decides what follows. */
function giveUpStep(draft: Draft, { node, attempt, notice }: Answered, failure: Failure, times: Times): void {
  emit(draft, { type: 'NODE_FAILED', ...node, attempt, failure, ...times });
  if (notice !== undefined && !isKnown(draft, notice)) send(draft, notice);
}

function endAsFailed(draft: Draft, error: Failure): void {
  emit(draft, { type: 'RUN_STATUS_CHANGED', status: 'failed' });
  emit(draft, { type: 'RUN_FAILED', error });
}

function send(draft: Draft, { id, message }: NewMessage, notBefore?: Instant): void {
  emit(draft, { type: 'SYSTEM_SET', key: messageKey(id), value: inline(storedMessage(message)) });
  emit(draft, {
    type: 'NODE_DISPATCHED',
    nodeId: id,
    iteration: topLevel,
    attempt: firstAttempt,
    via: 'queue',
    wave: 0,
    ...(notBefore === undefined ? {} : { notBefore }),
  });
}

const isKnown = (draft: Draft, { id }: NewMessage): boolean =>
  draft.state.nodes.has(nodeKey({ nodeId: id, iteration: topLevel }));

const wanted = ({ state }: Draft, ref: NodeRef, attempt: Attempt): OpenNode | undefined => wantedNode(state, ref, attempt);

/** The first sign of work makes the run a running one. */
function run(draft: Draft): void {
  if (draft.state.progress.status === 'pending') emit(draft, { type: 'RUN_STATUS_CHANGED', status: 'running' });
}
