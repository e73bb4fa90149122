/**
 * Facts in, events out, for bundle runs. The deployed code decides what the run does; the engine decides which messages remain to be
 * delivered, and how the run ends.
 */
import { defined } from '../../base/defined.ts';
import { type Backoff, backoffMs } from '../../base/retry.ts';
import {
  type CommonFact,
  type Decision,
  type DecisionTools,
  type NodeLost,
  deadlineExceeded,
  decideCommonFact,
  emit,
  endRun,
  findOpenNode,
  hasEnded,
  latestDeadline,
  mustEndAtDeadline,
  markRunning,
  openDecision,
  recordResumption,
  startRun,
} from '../decision.ts';
import { type Attempt, type NodeId, type NodeRef, firstAttempt, nodeKey, topLevel } from '../ids.ts';
import { type JsonValue, type Payload, inline } from '../json.ts';
import type { Failure, RunEvent } from '../log/events.ts';
import { type RunState, emptyState } from '../log/fold.ts';
import { type Instant, after, durationMs } from '../time.ts';
import { type Message, type MessageResult, isStepMessage, messageKey, storedMessage } from './message.ts';

export interface NewMessage {
  readonly id: NodeId;
  readonly message: Message;
}

export type BundleFact =
  | CommonFact
  | NodeLost
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

export interface BundleTools extends DecisionTools {
  /** a number from 0 up to 1, for jitter */
  readonly random: () => number;
}

type Draft = Decision<BundleTools>;

/** The code's own limit is lower: DevKit gives a message up at its 49th delivery. */
export const maxDeliveries = 50;
/** An artifact that could not be loaded several times will not load later. */
const maxLoads = 5;
export const maxDeliveryBackoffMs = 900_000;
/** 1, 2, 4 … seconds, at most 15 minutes. A part is random, so that messages that failed together are not retried together. */
const deliveryBackoff: Backoff = { baseMs: 1_000, maxMs: maxDeliveryBackoffMs, jitter: 0.25 };

/** The first commit: the input, and the first message. @param via `inline`: the caller that commits it delivers it too */
export function decideBundleStart(
  input: Payload,
  system: Readonly<Record<string, JsonValue>>,
  first: NewMessage,
  tools: BundleTools,
  notBefore?: Instant,
  via?: 'queue' | 'inline',
): readonly RunEvent[] {
  const draft = openDecision(emptyState(), tools);
  startRun(draft, input, system);
  send(draft, first, notBefore, via);
  return draft.events;
}

/**
 * The events that follow from these facts, in order. No events: there is nothing to commit.
 * After the deadline any fact ends the run; nothing is sent or completed.
 */
export function decideBundle(state: RunState, facts: readonly BundleFact[], tools: BundleTools): readonly RunEvent[] {
  const draft = openDecision(state, tools);
  if (facts.length > 0 && mustEndAtDeadline(draft)) endRun(draft, { status: 'timed_out', error: deadlineExceeded });
  for (const fact of facts) {
    if (hasEnded(draft)) break;
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
      recordResumption(draft, fact);
      return send(draft, fact.newMessage);
    }
    case 'message-answered':
      return applyAnswer(draft, fact);
    case 'node-lost': {
      const open = findOpenNode(draft, fact.node, fact.attempt);
      if (open === undefined) return;
      markRunning(draft);
      return failMessage(draft, fact, fact.failure, { startedAt: draft.tools.now, endedAt: draft.tools.now });
    }
    default:
      return decideCommonFact(draft, fact);
  }
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
      return endRun(draft, { status: 'failed', error: result.failure });
  }
}

function retryMessage(draft: Draft, fact: AnsweredMessage, failure: Failure): void {
  const times = { startedAt: fact.startedAt, endedAt: fact.endedAt };
  const limit = failure.code === 'artifact_unusable' ? maxLoads : maxDeliveries;
  const delayMs = durationMs(Math.round(backoffMs(deliveryBackoff, fact.attempt, 1 - draft.tools.random())));
  const retryAt = after(draft.tools.now, delayMs);
  if (fact.attempt >= limit || retryAt > latestDeadline(draft)) {
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

/** A message that cannot be delivered fails the run, because only the code knows what the message was for. */
function failMessage(
  draft: Draft,
  { node, attempt }: { readonly node: NodeRef; readonly attempt: Attempt },
  failure: Failure,
  times: Times,
): void {
  emit(draft, { type: 'NODE_FAILED', ...node, attempt, failure, ...times });
  const keepsCode = failure.code === 'artifact_unusable' || failure.cause === 'lost';
  const error: Failure = {
    ...failure,
    code: keepsCode && failure.code !== undefined ? failure.code : 'delivery_failed',
    message: `message ${node.nodeId} failed after ${attempt} attempts: ${failure.message}`,
    details: { messageId: node.nodeId },
  };
  endRun(draft, { status: 'failed', error });
}

/** A step message whose code cannot be loaded fails alone: the workflow code is another bundle and decides what follows. */
function failStepMessage(draft: Draft, { node, attempt, notice }: AnsweredMessage, failure: Failure, times: Times): void {
  emit(draft, { type: 'NODE_FAILED', ...node, attempt, failure, ...times });
  if (notice !== undefined && !isKnown(draft, notice)) send(draft, notice);
}

function send(draft: Draft, { id, message }: NewMessage, notBefore?: Instant, via: 'queue' | 'inline' = 'queue'): void {
  emit(draft, { type: 'SYSTEM_SET', key: messageKey(id), value: inline(storedMessage(message)) });
  emit(
    draft,
    defined({
      type: 'NODE_DISPATCHED',
      nodeId: id,
      iteration: topLevel,
      attempt: firstAttempt,
      via,
      wave: 0,
      notBefore,
    }),
  );
}

const isKnown = (draft: Draft, { id }: NewMessage): boolean =>
  draft.state.nodes.has(nodeKey({ nodeId: id, iteration: topLevel }));
