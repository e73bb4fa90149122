/**
 * What the deciders of graph, code and bundle runs share: a decision in progress, and the rules that are the same for every kind of run.
 * These rules cover the start of a run and of an attempt, cancel requests, the deadline, resumption, recovery and the end of a run.
 */
import { defined } from '../base/defined.ts';
import { type Attempt, type NodeRef, commitNo } from './ids.ts';
import { invariant } from './invariant.ts';
import { type JsonValue, type Payload, inline } from './json.ts';
import type { Failure, RunEvent, RunOutcome } from './log/events.ts';
import { type RunState, applyEvent, fork, isTerminal } from './log/fold.ts';
import type { OpenNode } from './log/node-state.ts';
import { type Backoff, type WakeRequest, backoffsOf, openNodeAt } from './log/open-nodes.ts';
import type { Instant } from './time.ts';
import { type DeadlineTerms, extendedDeadline, latestWaitEnd } from './deadline.ts';

/** Facts that mean the same for every kind of run. */
export type CommonFact =
  | { readonly kind: 'node-started'; readonly node: NodeRef; readonly attempt: Attempt; readonly startedAt: Instant }
  | { readonly kind: 'cancel-requested'; readonly reason?: string }
  | { readonly kind: 'deadline-passed' }
  | { readonly kind: 'recovered'; readonly nodes: readonly string[] };

/** The node's message reached the dead-letter queue, or its deliveries were lost. */
export interface NodeLost {
  readonly kind: 'node-lost';
  readonly node: NodeRef;
  readonly attempt: Attempt;
  readonly failure: Failure;
}

export interface DecisionTools extends DeadlineTerms {
  readonly now: Instant;
}

/** A decision in progress: a fork of the fold, and the events decided so far, each already folded into it. */
export interface Decision<Tools extends DecisionTools = DecisionTools> {
  readonly state: RunState;
  readonly events: RunEvent[];
  readonly tools: Tools;
  /** called with each decided event; a graph counts the work of its decision here */
  readonly onEvent?: (event: RunEvent) => void;
}

export const openDecision = <Tools extends DecisionTools>(state: RunState, tools: Tools): Decision<Tools> => ({
  state: fork(state),
  events: [],
  tools,
});

export function emit({ state, events, tools, onEvent }: Decision, event: RunEvent): void {
  applyEvent(state, event, { commit: commitNo(state.asOf + 1), at: tools.now });
  events.push(event);
  onEvent?.(event);
}

export const hasEnded = (draft: Decision): boolean => isTerminal(draft.state.progress);

export const findOpenNode = ({ state }: Decision, ref: NodeRef, attempt: Attempt): OpenNode | undefined =>
  openNodeAt(state, ref, attempt);

/** The first progress changes the run's status to running. */
export function markRunning(draft: Decision): void {
  if (draft.state.progress.status === 'pending') emit(draft, { type: 'RUN_STATUS_CHANGED', status: 'running' });
}

/** The first events of a run. */
export function startRun(draft: Decision, input: Payload, system: Readonly<Record<string, JsonValue>>): void {
  emit(draft, { type: 'INPUT_SET', input });
  for (const [key, value] of Object.entries(system)) emit(draft, { type: 'SYSTEM_SET', key, value: inline(value) });
  emit(draft, { type: 'RUN_STARTED' });
}

/** Decides a fact that means the same for every kind of run. */
export function decideCommonFact(draft: Decision, fact: CommonFact): void {
  switch (fact.kind) {
    case 'node-started':
      if (findOpenNode(draft, fact.node, fact.attempt)?.status !== 'queued') return;
      markRunning(draft);
      return emit(draft, { type: 'NODE_STARTED', ...fact.node, attempt: fact.attempt, startedAt: fact.startedAt });
    case 'cancel-requested':
      return endRun(draft, defined({ status: 'cancelled', reason: fact.reason }));
    case 'deadline-passed':
      // The fact came early: at the deadline the decider ends or extends the run before it decides any fact.
      return;
    case 'recovered':
      if (fact.nodes.length > 0) emit(draft, { type: 'RUN_RECOVERED', nodes: fact.nodes });
  }
}

/** Records a request to resume the run. */
export const recordResumption = (
  draft: Decision,
  { reason, payload, token }: { readonly reason?: string; readonly payload?: Payload; readonly token?: string },
): void => emit(draft, defined({ type: 'RUN_RESUMED', reason, payload, token }));

/** The failure of a run that exceeded its deadline. */
export const deadlineExceeded: Failure = {
  cause: 'deadline',
  code: 'deadline_exceeded',
  message: 'the deadline of the run has passed',
};

/** The latest time to which the deadline can move: a wait that ends later never ends. */
export const latestDeadline = ({ tools }: Decision): Instant => latestWaitEnd(tools);

/**
 * Whether the deadline must end the run now, before any fact: after it no worker dispatches or completes anything. If the deadline was
 * not declared and the run waits, the deadline moves instead.
 */
export function mustEndAtDeadline(draft: Decision): boolean {
  const { state, tools } = draft;
  if (tools.now < tools.deadlineAt || hasEnded(draft)) return false;
  const deadlineAt = extendedDeadline(state, tools, tools.now);
  if (deadlineAt === undefined) return true;
  emit(draft, { type: 'DEADLINE_EXTENDED', deadlineAt });
  return false;
}

export const failedWith = (error: Failure): RunOutcome =>
  error.cause === 'deadline' ? { status: 'timed_out', error } : { status: 'failed', error };

/** Ends the run without success. The end of the run cancels its open nodes. */
export function endRun(draft: Decision, runOutcome: RunOutcome): void {
  invariant(!hasEnded(draft), 'the run has already ended');
  if (runOutcome.status === 'cancelled') {
    emit(draft, { type: 'RUN_STATUS_CHANGED', status: 'cancelled' });
    return emit(draft, defined({ type: 'RUN_CANCELLED', reason: runOutcome.reason }));
  }
  emit(draft, { type: 'RUN_STATUS_CHANGED', status: 'failed' });
  emit(draft, { type: runOutcome.status === 'timed_out' ? 'RUN_TIMED_OUT' : 'RUN_FAILED', error: runOutcome.error });
}

/** Ends the backoff of the requested nodes: their next attempts may begin now. @returns these nodes */
export function retryNow(draft: Decision, { nodeIds }: WakeRequest): readonly Backoff[] {
  const nodes = backoffsOf(draft.state, draft.tools.now, nodeIds);
  for (const { nodeId, iteration, attempt } of nodes) emit(draft, { type: 'NODE_WOKEN', nodeId, iteration, attempt });
  return nodes;
}
