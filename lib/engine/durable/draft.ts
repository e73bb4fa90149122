/** A decision about a code run in progress: the resulting state, and the events that lead to it. */
import { defined } from '../../base/defined.ts';
import { type NodeRef, commitNo, firstAttempt, nodeKey, topLevel } from '../ids.ts';
import { invariant } from '../invariant.ts';
import { inline } from '../json.ts';
import type { RunOutcome, Failure, RunEvent } from '../log/events.ts';
import { type RunState, applyEvent, fork, isTerminal, openNodes } from '../log/fold.ts';
import { type NodeState, type OpenNode } from '../log/node-state.ts';
import { openNodeAt } from '../log/open-nodes.ts';
import type { Attempt } from '../ids.ts';
import type { Instant } from '../time.ts';
import type { CodeTools } from './facts.ts';
import { workflowTaskNodeId } from './step.ts';

export interface Draft {
  readonly state: RunState;
  readonly events: RunEvent[];
  readonly tools: CodeTools;
}

export const openDraft = (state: RunState, tools: CodeTools): Draft => ({ state: fork(state), events: [], tools });

export function emit({ state, events, tools }: Draft, event: RunEvent): void {
  applyEvent(state, event, { commit: commitNo(state.asOf + 1), at: tools.now });
  events.push(event);
}

export const hasEnded = ({ state }: Draft): boolean => isTerminal(state.progress);

export const nodeOf = ({ state }: Draft, ref: NodeRef): NodeState | undefined => state.nodes.get(nodeKey(ref));

export const findOpenNode = ({ state }: Draft, ref: NodeRef, attempt: Attempt): OpenNode | undefined =>
  openNodeAt(state, ref, attempt);

/** The first progress changes the run's status to running. */
export function markRunning(draft: Draft): void {
  if (draft.state.progress.status === 'pending') emit(draft, { type: 'RUN_STATUS_CHANGED', status: 'running' });
}

export function dispatchWorkflowTask(draft: Draft, notBefore?: Instant): void {
  const key = String((draft.state.code?.workflowTasks ?? 0) + 1);
  emit(
    draft,
    defined({
      type: 'NODE_DISPATCHED',
      nodeId: workflowTaskNodeId(Number(key)),
      iteration: topLevel,
      attempt: firstAttempt,
      via: 'queue',
      wave: 0,
      step: { kind: 'workflow_task', key },
      notBefore: notBefore === undefined || notBefore <= draft.tools.now ? undefined : notBefore,
    }),
  );
}

const openWorkflowTasks = (draft: Draft): readonly OpenNode[] =>
  openNodes(draft.state).filter(({ step }) => step?.kind === 'workflow_task');

const dueAt = (workflowTask: OpenNode): Instant | undefined =>
  workflowTask.status === 'queued' ? workflowTask.notBefore : undefined;

/** Makes sure that a workflow task runs at `at` at the latest. A deferred task keeps its backoff: a new one would fail the same way. */
export function requestWorkflowTask(draft: Draft, at: Instant = draft.tools.now): void {
  const isRequested = openWorkflowTasks(draft).some(
    (workflowTask) => workflowTask.attempt > firstAttempt || (dueAt(workflowTask) ?? at) <= at,
  );
  if (!isRequested) dispatchWorkflowTask(draft, at);
}

/** Makes sure that a workflow task runs now, also if the current one is deferred. */
export function requestWorkflowTaskNow(draft: Draft): void {
  const { now } = draft.tools;
  if (!openWorkflowTasks(draft).some((workflowTask) => (dueAt(workflowTask) ?? now) <= now)) dispatchWorkflowTask(draft);
}

export function endWorkflowTask(
  draft: Draft,
  workflowTask: OpenNode,
  times: { readonly startedAt: Instant; readonly endedAt: Instant },
): void {
  const { nodeId, iteration, attempt } = workflowTask;
  const { startedAt, endedAt } = times;
  emit(draft, { type: 'NODE_COMPLETED', nodeId, iteration, attempt, output: inline(null), handle: null, startedAt, endedAt });
}

export function endRun(draft: Draft, runOutcome: RunOutcome): void {
  invariant(!hasEnded(draft), 'the run has already ended');
  if (runOutcome.status === 'cancelled') {
    emit(draft, { type: 'RUN_STATUS_CHANGED', status: 'cancelled' });
    return emit(draft, defined({ type: 'RUN_CANCELLED', reason: runOutcome.reason }));
  }
  emit(draft, { type: 'RUN_STATUS_CHANGED', status: 'failed' });
  emit(draft, { type: runOutcome.status === 'timed_out' ? 'RUN_TIMED_OUT' : 'RUN_FAILED', error: runOutcome.error });
}

export const failedWith = (error: Failure): RunOutcome =>
  error.cause === 'deadline' ? { status: 'timed_out', error } : { status: 'failed', error };
