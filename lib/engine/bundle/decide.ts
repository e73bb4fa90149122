/**
 * Facts in, events out, for bundle runs. The deployed code decides what the run does; the engine decides which messages remain to be
 * delivered, and how the run ends.
 */
import { defined } from '../../base/defined.ts';
import type { Fact } from '../graph/facts.ts';
import { type Attempt, type NodeId, type NodeRef, commitNo, firstAttempt, nodeKey, topLevel } from '../ids.ts';
import { type JsonValue, type Payload, inline } from '../json.ts';
import type { Failure, RunEvent } from '../log/events.ts';
import { type RunState, applyEvent, emptyState, fork, isTerminal } from '../log/fold.ts';
import type { OpenNode } from '../log/node-state.ts';
import { openNodeAt } from '../log/open-node-at.ts';
import { deadlineExceeded } from '../retry/deadline.ts';
import { type DurationMs, type Instant, after, durationMs } from '../time.ts';
import { type Message, isStepMessage, messageKey, storedMessage } from './message.ts';
import type { MessageResult } from './message-result.ts';

export interface NewMessage {
  readonly id: NodeId;
  readonly message: Message;
}

export type BundleFact =
  | Extract<Fact, { kind: 'node-started' | 'node-lost' | 'cancel-requested' | 'deadline-passed' | 'recovered' }>
  /** a message to the run; a message with a known id changes nothing */
  | { readonly kind: 'message-sent'; readonly newMessage: NewMessage; readonly notBefore?: Instant }
  /** a request to resume the run, with its reason */
  | {
      readonly kind: 'resumed';
      readonly newMessage: NewMessage;
      readonly reason?: string;
      readonly payload?: Payload;
      readonly token?: string;
    }
  | {
      readonly kind: 'message-answered';
      readonly node: NodeRef;
      readonly attempt: Attempt;
      readonly result: MessageResult;
      /** the message to send if the result asks for redelivery */
      readonly nextMessage: NewMessage;
      /** for the run's workflow: tells it that the code of this step's message could not be loaded */
      readonly notice?: NewMessage;
      readonly startedAt: Instant;
      readonly endedAt: Instant;
    };

export interface BundleTools {
  readonly now: Instant;
  readonly deadlineAt: Instant;
  /** a number from 0 up to 1, for jitter */
  readonly random: () => number;
}

interface Draft {
  readonly state: RunState;
  readonly events: RunEvent[];
  readonly tools: BundleTools;
}

/** The code's own limit is lower: DevKit gives a message up at its 49th delivery. */
export const maxDeliveries = 50;
/** An artifact that could not be loaded several times will not load later. */
const maxLoads = 5;
export const maxDeliveryBackoffMs = 900_000;
/** Part of the backoff that is random, so that messages that failed together are not retried together. */
const jitter = 0.25;

const openDraft = (state: RunState, tools: BundleTools): Draft => ({ state: fork(state), events: [], tools });

function emit({ state, events, tools }: Draft, event: RunEvent): void {
  applyEvent(state, event, { commit: commitNo(state.asOf + 1), at: tools.now });
  events.push(event);
}

/** The first commit: the input, and the first message. */
export function decideBundleStart(
  input: Payload,
  system: Readonly<Record<string, JsonValue>>,
  first: NewMessage,
  tools: BundleTools,
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
 * The events that follow from these facts, in order. No events: there is nothing to commit.
 * After the deadline any fact ends the run; nothing is sent or completed.
 */
export function decideBundle(state: RunState, facts: readonly BundleFact[], tools: BundleTools): readonly RunEvent[] {
  const draft = openDraft(state, tools);
  if (facts.length > 0 && tools.now >= tools.deadlineAt && !isTerminal(state.progress)) timeOut(draft);
  for (const fact of facts) {
    if (isTerminal(draft.state.progress)) break;
    decideOne(draft, fact);
  }
  return draft.events;
}

function decideOne(draft: Draft, fact: BundleFact): void {
  switch (fact.kind) {
    case 'message-sent':
      if (isKnown(draft, fact.newMessage)) return;
      return send(draft, fact.newMessage, fact.notBefore);
    case 'resumed': {
      if (isKnown(draft, fact.newMessage)) return;
      const { reason, payload, token } = fact;
      emit(
        draft,
        defined({
          type: 'RUN_RESUMED',
          reason,
          payload,
          token,
        }),
      );
      return send(draft, fact.newMessage);
    }
    case 'node-started':
      if (findOpenNode(draft, fact.node, fact.attempt)?.status !== 'queued') return;
      markRunning(draft);
      return emit(draft, { type: 'NODE_STARTED', ...fact.node, attempt: fact.attempt, startedAt: fact.startedAt });
    case 'message-answered':
      return applyAnswer(draft, fact);
    case 'node-lost': {
      const open = findOpenNode(draft, fact.node, fact.attempt);
      if (open === undefined) return;
      markRunning(draft);
      return failMessage(draft, fact, fact.failure, { startedAt: draft.tools.now, endedAt: draft.tools.now });
    }
    case 'cancel-requested':
      emit(draft, { type: 'RUN_STATUS_CHANGED', status: 'cancelled' });
      return emit(draft, defined({ type: 'RUN_CANCELLED', reason: fact.reason }));
    case 'deadline-passed':
      // The fact came early: after the deadline `decideBundle` has ended the run before.
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

type AnsweredMessage = Extract<BundleFact, { kind: 'message-answered' }>;

function applyAnswer(draft: Draft, fact: AnsweredMessage): void {
  if (findOpenNode(draft, fact.node, fact.attempt) === undefined) return;
  markRunning(draft);
  const { result, startedAt, endedAt } = fact;
  if (result.kind === 'failed') return retryMessage(draft, fact, result.failure);
  emit(draft, {
    type: 'NODE_COMPLETED',
    ...fact.node,
    attempt: fact.attempt,
    output: inline(null),
    handle: null,
    startedAt,
    endedAt,
  });
  switch (result.kind) {
    case 'done':
      return;
    case 'redeliver':
      return send(draft, fact.nextMessage, result.afterMs === 0 ? undefined : after(endedAt, result.afterMs));
    case 'run-completed':
      emit(draft, { type: 'RUN_STATUS_CHANGED', status: 'completed' });
      return emit(draft, { type: 'RUN_COMPLETED', output: inline(result.output) });
    case 'run-failed':
      return endAsFailed(draft, result.failure);
  }
}

function retryMessage(draft: Draft, fact: AnsweredMessage, failure: Failure): void {
  const times = { startedAt: fact.startedAt, endedAt: fact.endedAt };
  const limit = failure.code === 'artifact_unusable' ? maxLoads : maxDeliveries;
  const delayMs = backoff(fact.attempt, draft.tools.random());
  const retryAt = after(draft.tools.now, delayMs);
  if (fact.attempt >= limit || retryAt > draft.tools.deadlineAt) {
    if (failure.code === 'artifact_unusable' && isStepMessage(fact.node.nodeId))
      return failStepMessage(draft, fact, failure, times);
    return failMessage(draft, fact, failure, times);
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

/** 1, 2, 4 … seconds, at most 15 minutes, less up to a quarter; whole milliseconds. */
const backoff = (attempt: Attempt, random: number): DurationMs =>
  durationMs(Math.round(Math.min(maxDeliveryBackoffMs, 1_000 * 2 ** (attempt - 1)) * (1 - jitter * random)));

/** A message that cannot be delivered fails the run, because only the code knows what the message was for. */
function failMessage(
  draft: Draft,
  { node, attempt }: { readonly node: NodeRef; readonly attempt: Attempt },
  failure: Failure,
  times: Times,
): void {
  emit(draft, { type: 'NODE_FAILED', ...node, attempt, failure, ...times });
  const keepsCode = failure.code === 'artifact_unusable' || failure.cause === 'lost';
  endAsFailed(draft, {
    ...failure,
    code: keepsCode && failure.code !== undefined ? failure.code : 'delivery_failed',
    message: `message ${node.nodeId} failed after ${attempt} attempts: ${failure.message}`,
    details: { messageId: node.nodeId },
  });
}

/** A step message whose code cannot be loaded fails alone: the workflow code is another bundle and decides what follows. */
function failStepMessage(draft: Draft, { node, attempt, notice }: AnsweredMessage, failure: Failure, times: Times): void {
  emit(draft, { type: 'NODE_FAILED', ...node, attempt, failure, ...times });
  if (notice !== undefined && !isKnown(draft, notice)) send(draft, notice);
}

function endAsFailed(draft: Draft, error: Failure): void {
  emit(draft, { type: 'RUN_STATUS_CHANGED', status: 'failed' });
  emit(draft, { type: 'RUN_FAILED', error });
}

function send(draft: Draft, { id, message }: NewMessage, notBefore?: Instant): void {
  emit(draft, { type: 'SYSTEM_SET', key: messageKey(id), value: inline(storedMessage(message)) });
  emit(
    draft,
    defined({
      type: 'NODE_DISPATCHED',
      nodeId: id,
      iteration: topLevel,
      attempt: firstAttempt,
      via: 'queue',
      wave: 0,
      notBefore,
    }),
  );
}

const isKnown = (draft: Draft, { id }: NewMessage): boolean =>
  draft.state.nodes.has(nodeKey({ nodeId: id, iteration: topLevel }));

const findOpenNode = ({ state }: Draft, ref: NodeRef, attempt: Attempt): OpenNode | undefined => openNodeAt(state, ref, attempt);

/** The first progress changes the run's status to running. */
function markRunning(draft: Draft): void {
  if (draft.state.progress.status === 'pending') emit(draft, { type: 'RUN_STATUS_CHANGED', status: 'running' });
}
