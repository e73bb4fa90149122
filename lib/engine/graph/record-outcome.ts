/** Records the outcome of a node: it ended, it waits, or its loop began. */
import { defined } from '../../base/defined.ts';
import { type Attempt, firstAttempt } from '../ids.ts';
import type { Failure } from '../log/events.ts';
import { awaitSignal } from './await-signal.ts';
import { beginLoop } from './begin-loop.ts';
import { callSubflow } from './call-subflow.ts';
import { type AttemptTimes, completionEvent } from './completion-event.ts';
import { type Draft, emit } from './draft.ts';
import { failRun } from './finish-graph.ts';
import { type Outcome, errorHandle } from './outcome.ts';
import type { PlanNodeRef } from './plan.ts';
import { storableOutcome } from './storable-outcome.ts';

/** Records the outcome of a node that needs no worker. There is no retry: the same context gives the same outcome. */
export function recordOutcome(draft: Draft, nodeRef: PlanNodeRef, rawOutcome: Outcome): void {
  const { now } = draft.tools;
  const outcome = storableOutcome(rawOutcome);
  switch (outcome.kind) {
    case 'finished':
      return emit(draft, completionEvent(nodeRef, outcome, { attempt: firstAttempt, startedAt: now, endedAt: now }));
    case 'failed':
      return failNode(draft, nodeRef, outcome.failure);
    case 'sleeping':
      return beginSleep(draft, nodeRef, outcome);
    case 'awaiting':
      return awaitSignal(draft, nodeRef, outcome);
    case 'calling':
      return callSubflow(draft, nodeRef, outcome);
    case 'expanding':
      return beginLoop(draft, nodeRef, outcome);
  }
}

export function beginSleep(
  draft: Draft,
  nodeRef: PlanNodeRef,
  outcome: Extract<Outcome, { kind: 'sleeping' }>,
  attempt = firstAttempt,
): void {
  if (outcome.wakeAt > draft.tools.deadlineAt) {
    return failNode(
      draft,
      nodeRef,
      { cause: 'deadline', code: 'sleep_past_deadline', message: 'the sleep would end after the deadline of the run' },
      attempt,
    );
  }
  emit(draft, {
    type: 'SLEEP_STARTED',
    nodeId: nodeRef.node.id,
    iteration: nodeRef.iteration,
    attempt,
    wakeAt: outcome.wakeAt,
    output: outcome.output,
  });
}

/** Records a final failure: an error edge handles it, or the run ends, or each child's policy decides. */
export function failNode(
  draft: Draft,
  nodeRef: PlanNodeRef,
  failure: Failure,
  attempt = firstAttempt,
  times?: Omit<AttemptTimes, 'attempt'>,
): void {
  recordFailure(draft, nodeRef, failure, attempt, times);
  if (nodeRef.node.policy.errorHandling === 'fail_workflow') failRun(draft, nodeRef);
}

/** Records the failure alone, for callers that end the run themselves. */
export function recordFailure(
  draft: Draft,
  { node, iteration }: PlanNodeRef,
  failure: Failure,
  attempt: Attempt,
  times?: Omit<AttemptTimes, 'attempt'>,
): void {
  const { now } = draft.tools;
  const isHandled = node.policy.errorHandling === 'continue' && node.outbound.some((edge) => edge.sourceHandle === errorHandle);
  emit(
    draft,
    defined({
      type: 'NODE_FAILED',
      nodeId: node.id,
      iteration,
      attempt,
      failure,
      handle: isHandled ? ('error' as const) : undefined,
      variable: isHandled && node.policy.outputVariable !== undefined ? node.policy.outputVariable : undefined,
      startedAt: times?.startedAt ?? now,
      endedAt: times?.endedAt ?? now,
      printed: times?.printed === undefined ? undefined : times.printed,
      tokens: times?.tokens === undefined ? undefined : times.tokens,
    }),
  );
}
