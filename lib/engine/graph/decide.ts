/**
 * Facts in, events out: a pure function of the fold, repeated after every lost conflict. A fact about an attempt that is no longer
 * current produces no event.
 */
import { defined } from '../../base/defined.ts';
import { type Attempt, type NodeRef, attempt as attemptNo, topLevel } from '../ids.ts';
import { invariant, unreachable } from '../invariant.ts';
import type { JsonValue, Payload } from '../json.ts';
import type { Failure, Gate, RunEvent, TokenCount, Via } from '../log/events.ts';
import { type RunState, emptyState } from '../log/fold.ts';
import { type ChildWait, type OpenNode, type SignalWait, type WaitingNode, waitEndsAt } from '../log/node-state.ts';
import { openNodeAt } from '../log/open-node-at.ts';
import { backoff } from '../retry/backoff.ts';
import { retryableCauses } from '../retry/causes.ts';
import { deadlineExceeded } from '../retry/deadline.ts';
import { type Instant, after } from '../time.ts';
import { advance, maxDirectSiblings } from './advance.ts';
import { beginLoop } from './begin-loop.ts';
import { awaitSlot, beginGraph, mustWaitForSlot, takeSlot } from './begin.ts';
import { awaitSignal, signalWaitOutput, signalExpired } from './await-signal.ts';
import { hasExecutionsLeft, checkExecutionBudget, checkTokenBudget } from './budget.ts';
import { callSubflow, failureOfChild, subflowExpired } from './call-subflow.ts';
import { type AttemptTimes, completionEvent } from './completion-event.ts';
import { type DecideTools, type Draft, emit, hasEnded, canRunOneInline, openDraft } from './draft.ts';
import type { Fact } from './facts.ts';
import { type Outcome, mainHandle } from './outcome.ts';
import type { PlanNodeRef, PlanNode } from './plan.ts';
import { failNode, recordFailure, beginSleep } from './record-outcome.ts';
import { type Sleeper, sleepersOf } from './sleepers.ts';
import { storableOutcome } from './storable-outcome.ts';

/** The first commit of a run: its input, and its roots dispatched. */
export function decideStart(
  input: Payload,
  system: Readonly<Record<string, JsonValue>>,
  tools: DecideTools,
  startAt?: Instant,
): readonly RunEvent[] {
  const draft = openDraft(emptyState(), tools);
  emit(draft, { type: 'INPUT_SET', input });
  for (const [key, value] of Object.entries(system)) emit(draft, { type: 'SYSTEM_SET', key, value: { value } });
  emit(draft, { type: 'RUN_STARTED' });
  if (mustWaitForSlot(draft)) awaitSlot(draft, startAt);
  else if (startAt === undefined) beginGraph(draft);
  else dispatchRootsAt(draft, startAt);
  return draft.events;
}

/** Dispatches the roots of a run with a later start; workers begin them at that time. */
function dispatchRootsAt(draft: Draft, notBefore: Instant): void {
  const { roots } = draft.tools.plan;
  const counted = roots.filter(({ isPure }) => !isPure).map(({ id }) => ({ nodeId: id, iteration: topLevel }));
  if (!checkExecutionBudget(draft, counted)) return;
  for (const root of roots)
    emit(
      draft,
      defined({
        type: 'NODE_DISPATCHED',
        nodeId: root.id,
        iteration: topLevel,
        attempt: attemptNo(1),
        via: roots.length > maxDirectSiblings ? 'collect' : 'queue',
        wave: root.wave,
        notBefore,
        isPure: root.isPure ? (true as const) : undefined,
      }),
    );
}

/** The events that follow from these facts, in order. No events: there is nothing to commit. */
export const decide = (state: RunState, facts: readonly Fact[], tools: DecideTools): readonly RunEvent[] =>
  decideUntilFull(state, facts, tools).events;

/**
 * Decides as many facts as one commit holds; the caller decides the remaining ones in the next commit. After the deadline any fact
 * ends the run, so no worker dispatches or completes anything.
 */
export function decideUntilFull(
  state: RunState,
  facts: readonly Fact[],
  tools: DecideTools,
): { readonly events: readonly RunEvent[]; readonly remaining: readonly Fact[] } {
  const draft = openDraft(state, tools);
  if (facts.length > 0 && tools.now >= tools.deadlineAt && !hasEnded(draft)) timeOut(draft);
  for (const [at, fact] of facts.entries()) {
    if (hasEnded(draft)) break;
    if (draft.events.length > 0 && draft.work.isFull) return { events: draft.events, remaining: facts.slice(at) };
    decideOne(draft, fact);
  }
  return { events: draft.events, remaining: [] };
}

function decideOne(draft: Draft, fact: Fact): void {
  switch (fact.kind) {
    case 'node-started': {
      const open = findOpenNode(draft, fact.node, fact.attempt);
      if (open?.status !== 'queued') return;
      markRunning(draft);
      return emit(draft, { type: 'NODE_STARTED', ...fact.node, attempt: fact.attempt, startedAt: fact.startedAt });
    }
    case 'node-ended':
      return nodeEnded(draft, fact);
    case 'node-woken':
      return endWaitAtItsTime(draft, fact);
    case 'signal-received': {
      const open = findOpenNode(draft, fact.node, fact.attempt);
      if (open?.status !== 'waiting' || open.for !== 'signal') return;
      markRunning(draft);
      const { nodeId, iteration, attempt, name, correlation } = open;
      emit(draft, { type: 'SIGNAL_RECEIVED', nodeId, iteration, attempt, signalId: fact.signal.signalId, name, correlation });
      return advance(draft, [endWait(draft, open, signalWaitOutput(open, fact.signal), mainHandle)]);
    }
    case 'child-ended':
      return childEnded(draft, fact);
    case 'wake-requested':
      return wakeEarly(draft, sleepersOf(draft.state, fact.nodeIds));
    case 'resume-requested':
      emit(
        draft,
        defined({
          type: 'RUN_RESUMED',
          reason: fact.reason,
          payload: fact.payload,
          token: fact.token,
        }),
      );
      return wakeEarly(draft, sleepersOf(draft.state));
    case 'node-lost': {
      const open = findOpenNode(draft, fact.node, fact.attempt);
      return open === undefined ? undefined : loseAttempt(draft, open, fact.failure);
    }
    case 'slot-taken':
      return takeSlot(draft, fact.slot);
    case 'cancel-requested':
      emit(draft, { type: 'RUN_STATUS_CHANGED', status: 'cancelled' });
      return emit(draft, defined({ type: 'RUN_CANCELLED', reason: fact.reason }));
    case 'deadline-passed':
      // The fact came early: after the deadline `decideUntilFull` has ended the run before.
      return;
    case 'recovered':
      if (fact.nodes.length > 0) emit(draft, { type: 'RUN_RECOVERED', nodes: fact.nodes });
  }
}

function endWaitAtItsTime(draft: Draft, { node, attempt }: Extract<Fact, { kind: 'node-woken' }>): void {
  const open = findOpenNode(draft, node, attempt);
  if (open?.status !== 'waiting' || (waitEndsAt(open) ?? Infinity) > draft.tools.now) return;
  markRunning(draft);
  switch (open.for) {
    case 'time':
      return advance(draft, [wakeUp(draft, open)]);
    case 'signal':
      return expire(draft, open);
    case 'child':
      return failWait(draft, open, subflowExpired(open));
    case 'iterations':
      return advance(draft, [plannedNode(draft, open)]);
    default:
      unreachable(open);
  }
}

/** The attempt ended as lost. The node's retry policy decides about another attempt. */
function loseAttempt(draft: Draft, open: OpenNode, failure: Failure): void {
  const nodeRef = plannedNode(draft, open);
  const times = { attempt: open.attempt, startedAt: startOf(open), endedAt: draft.tools.now };
  markRunning(draft);
  const retry = planRetry(draft, nodeRef.node, open, failure, 0);
  if (retry === undefined) {
    emit(draft, {
      type: 'SYSTEM_SET',
      key: '__recoveryError',
      value: { value: { nodeId: nodeRef.node.id, ...iterationField(nodeRef), message: failure.message } },
    });
    failNode(draft, nodeRef, failure, open.attempt, times);
  } else retryAttempt(draft, nodeRef, failure, times, retry);
  if (!hasEnded(draft)) advance(draft, [nodeRef]);
}

function timeOut(draft: Draft): void {
  emit(draft, { type: 'RUN_STATUS_CHANGED', status: 'failed' });
  emit(draft, { type: 'RUN_TIMED_OUT', error: deadlineExceeded });
}

function nodeEnded(draft: Draft, ended: Extract<Fact, { kind: 'node-ended' }>): void {
  const fact = { ...ended, outcome: storableOutcome(ended.outcome) };
  const open = findOpenNode(draft, fact.node, fact.attempt);
  if (open === undefined || open.status === 'waiting') return;
  const nodeRef = plannedNode(draft, fact.node);
  const times = defined({
    attempt: fact.attempt,
    startedAt: fact.startedAt,
    endedAt: fact.endedAt,
    printed: fact.printed.length === 0 ? undefined : fact.printed,
    ...tokensOf(fact.outcome),
  });
  markRunning(draft);
  switch (fact.outcome.kind) {
    case 'sleeping':
      beginSleep(draft, nodeRef, fact.outcome, fact.attempt);
      break;
    case 'awaiting':
      awaitSignal(draft, nodeRef, fact.outcome, fact.attempt);
      break;
    case 'expanding':
      beginLoop(draft, nodeRef, fact.outcome, fact.attempt);
      break;
    case 'calling':
      callSubflow(draft, nodeRef, fact.outcome, fact.attempt);
      break;
    case 'finished':
      emit(draft, completionEvent(nodeRef, fact.outcome, times));
      break;
    case 'failed': {
      if (fact.outcome.gate !== undefined) emit(draft, gateEvent(fact, fact.outcome.gate));
      const retry = planRetry(draft, nodeRef.node, open, fact.outcome.failure, fact.outcome.retryAfterMs ?? 0);
      if (retry === undefined) failNode(draft, nodeRef, fact.outcome.failure, fact.attempt, times);
      else retryAttempt(draft, nodeRef, fact.outcome.failure, times, retry);
      break;
    }
  }
  if (!hasEnded(draft)) checkTokenBudget(draft, fact.node, times.tokens);
  if (!hasEnded(draft)) advance(draft, [nodeRef]);
}

const tokensOf = (outcome: Outcome): { readonly tokens?: TokenCount } =>
  (outcome.kind === 'finished' || outcome.kind === 'failed') && outcome.tokens !== undefined ? { tokens: outcome.tokens } : {};

/** Another attempt. If the budget has none left, the failure is recorded and the run ends. */
function retryAttempt(
  draft: Draft,
  nodeRef: PlanNodeRef,
  failure: Failure,
  times: AttemptTimes,
  retry: NonNullable<ReturnType<typeof planRetry>>,
): void {
  const ref: NodeRef = { nodeId: nodeRef.node.id, iteration: nodeRef.iteration };
  if (hasExecutionsLeft(draft)) return emit(draft, { type: 'NODE_RETRIED', ...ref, failure, ...times, ...retry });
  recordFailure(draft, nodeRef, failure, times.attempt, times);
  checkExecutionBudget(draft, [ref]);
}

function childEnded(draft: Draft, { node: ref, attempt, childRunId, end }: Extract<Fact, { kind: 'child-ended' }>): void {
  const open = findOpenNode(draft, ref, attempt);
  if (open?.status !== 'waiting' || open.for !== 'child' || open.childRunId !== childRunId) return;
  markRunning(draft);
  if (end.status === 'cancelled' && open.onChildCancelled === 'cancel') {
    const reason = `the run ${childRunId} that node ${open.nodeId} called was cancelled`;
    emit(draft, { type: 'RUN_STATUS_CHANGED', status: 'cancelled' });
    return emit(draft, { type: 'RUN_CANCELLED', reason });
  }
  const failure = failureOfChild(end, childRunId);
  if (failure !== undefined) return failWait(draft, open, failure);
  const output: Payload = { value: end.status === 'completed' ? end.output : null };
  advance(draft, [endWait(draft, open, output, mainHandle)]);
}

/** Ends the wait with a failure; a retry is another call. */
function failWait(draft: Draft, open: ChildWait, failure: Failure): void {
  const nodeRef = plannedNode(draft, open);
  const times = { attempt: open.attempt, startedAt: open.dispatchedAt, endedAt: draft.tools.now };
  const retry = planRetry(draft, nodeRef.node, open, failure, 0);
  if (retry === undefined) failNode(draft, nodeRef, failure, open.attempt, times);
  else retryAttempt(draft, nodeRef, failure, times, retry);
  if (!hasEnded(draft)) advance(draft, [nodeRef]);
}

/** The event of the gate that stopped the attempt. */
const gateEvent = ({ node, attempt }: Extract<Fact, { kind: 'node-ended' }>, gate: Gate): RunEvent =>
  gate.kind === 'contract'
    ? { type: 'CONTRACT_VIOLATED', ...node, attempt, phase: gate.phase, errors: gate.errors }
    : { type: 'MODERATION_FLAGGED', ...node, attempt, phase: gate.phase, decision: gate.decision };

/** Wakes the sleeping nodes in one decision, so that their successors are dispatched together. */
function wakeEarly(draft: Draft, sleepers: readonly Sleeper[]): void {
  if (sleepers.length === 0) return;
  markRunning(draft);
  const woken = sleepers.map((open) => {
    const { nodeId, iteration, attempt } = open;
    emit(draft, { type: 'NODE_WOKEN', nodeId, iteration, attempt });
    return wakeUp(draft, open);
  });
  advance(draft, woken);
}

const wakeUp = (draft: Draft, open: Sleeper): PlanNodeRef => endWait(draft, open, open.output, mainHandle);

function endWait(draft: Draft, open: WaitingNode, output: Payload, handle: string): PlanNodeRef {
  const nodeRef = plannedNode(draft, open);
  const times = { attempt: open.attempt, startedAt: open.dispatchedAt, endedAt: draft.tools.now };
  emit(draft, completionEvent(nodeRef, { kind: 'finished', output, handle }, times));
  return nodeRef;
}

/** The wait for a signal expired. There is no retry: it would wait again. */
function expire(draft: Draft, open: SignalWait): void {
  if (open.expiryHandle !== undefined) return advance(draft, [endWait(draft, open, signalWaitOutput(open), open.expiryHandle)]);
  const nodeRef = plannedNode(draft, open);
  failNode(draft, nodeRef, signalExpired(open), open.attempt, { startedAt: open.dispatchedAt, endedAt: draft.tools.now });
  if (!hasEnded(draft)) advance(draft, [nodeRef]);
}

/** Shorter delays happen in the worker; queues delay by whole seconds. */
export const minQueueDelayMs = 1_000;

function planRetry(draft: Draft, node: PlanNode, open: OpenNode, failure: Failure, requestedDelayMs: number) {
  const { retry } = node.policy;
  const cause = retryableCauses.find((retryable) => retryable === failure.cause);
  if (cause === undefined || !retry.retryOn.includes(cause) || open.attempt >= retry.attempts) return undefined;
  const delayMs = backoff(retry, open.attempt, draft.tools.random(), requestedDelayMs);
  const retryAt = after(draft.tools.now, delayMs);
  if (retryAt > draft.tools.deadlineAt) return undefined;
  const isInline = delayMs < minQueueDelayMs && open.via !== 'collect' && canRunOneInline(draft);
  const via: Via = open.via === 'collect' ? 'collect' : isInline ? 'inline' : 'queue';
  return { delayMs, retryAt, via };
}

const findOpenNode = ({ state }: Draft, ref: NodeRef, attempt: Attempt): OpenNode | undefined => openNodeAt(state, ref, attempt);

function plannedNode(draft: Draft, ref: NodeRef): PlanNodeRef {
  const node = draft.tools.plan.nodes.get(ref.nodeId);
  invariant(node !== undefined, `the log names node ${ref.nodeId}, which the pinned version does not have`);
  return { node, iteration: ref.iteration };
}

const startOf = (open: OpenNode): Instant => (open.status === 'running' ? open.startedAt : open.dispatchedAt);

const iterationField = ({ iteration }: PlanNodeRef) => (iteration === topLevel ? {} : { iteration });

/** The first progress changes the run's status to running. */
function markRunning(draft: Draft): void {
  if (draft.state.progress.status === 'pending') emit(draft, { type: 'RUN_STATUS_CHANGED', status: 'running' });
}
