/** Records the outcome of a node: it ended, it waits, or its loop began. */
import { defined } from '../../base/defined.ts';
import { type Attempt, firstAttempt } from '../ids.ts';
import { invariant } from '../invariant.ts';
import { type JsonValue, inline, isJsonArray } from '../json.ts';
import type { Failure, TokenCount } from '../log/events.ts';
import { type Instant, iso } from '../time.ts';
import { valueOf } from './context.ts';
import { emit, latestDeadline } from '../decision.ts';
import type { Draft } from './draft.ts';
import { endRunAt, failRun } from './finish-graph.ts';
import { pageSizeOf } from './loop-values.ts';
import { type Outcome, doneHandle, errorHandle, mainHandle } from './outcome.ts';
import { storableOutcome } from './payload-limits.ts';
import type { PlanNodeRef } from './plan.ts';
import { awaitSignal, callSubflow } from './waits.ts';

/** Records the outcome of a node that needs no worker. There is no retry: the same context gives the same outcome. */
export function recordOutcome(draft: Draft, nodeRef: PlanNodeRef, rawOutcome: Outcome): void {
  const { now } = draft.tools;
  const outcome = storableOutcome(rawOutcome);
  if (outcome.kind === 'failed') return failNode(draft, nodeRef, outcome.failure);
  recordResult(draft, nodeRef, outcome, { attempt: firstAttempt, startedAt: now, endedAt: now });
}

/** Records the outcome of an attempt that did not fail: the node ended or waits, or its loop began. */
export function recordResult(
  draft: Draft,
  nodeRef: PlanNodeRef,
  outcome: Exclude<Outcome, { kind: 'failed' }>,
  times: AttemptTimes,
): void {
  switch (outcome.kind) {
    case 'finished':
      emit(draft, completionEvent(nodeRef, outcome, times));
      if (nodeRef.node.endsRun === true && outcome.end !== undefined) endRunAt(draft, nodeRef.node, outcome.end, outcome.output);
      return;
    case 'sleeping':
      return beginSleep(draft, nodeRef, outcome, times.attempt);
    case 'awaiting':
      return awaitSignal(draft, nodeRef, outcome, times.attempt);
    case 'calling':
      return callSubflow(draft, nodeRef, outcome, times.attempt);
    case 'expanding':
      return beginLoop(draft, nodeRef, outcome, times.attempt);
  }
}

function beginSleep(
  draft: Draft,
  nodeRef: PlanNodeRef,
  outcome: Extract<Outcome, { kind: 'sleeping' }>,
  attempt = firstAttempt,
): void {
  if (outcome.wakeAt > latestDeadline(draft)) {
    return failNode(
      draft,
      nodeRef,
      { cause: 'deadline', code: 'sleep_past_deadline', message: sleepPastDeadline(outcome.wakeAt, latestDeadline(draft)) },
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

const sleepPastDeadline = (wakeAt: Instant, deadlineAt: Instant): string =>
  `the sleep would end at ${iso(wakeAt)}, after the deadline of the run at ${iso(deadlineAt)}: ` +
  'wait for a shorter time, or declare a longer deadline in the options of the workflow or at the start (at most 365 days)';

/** A pinned node does not run: it completes with the pinned output. */
export function completePinned(
  draft: Draft,
  nodeRef: PlanNodeRef,
  { output, handle }: { readonly output: JsonValue; readonly handle?: string },
): void {
  const { now } = draft.tools;
  const times = { attempt: firstAttempt, startedAt: now, endedAt: now };
  const resolvedHandle = handle ?? (nodeRef.node.isLoop ? doneHandle : mainHandle);
  emit(draft, {
    ...completionEvent(nodeRef, { kind: 'finished', output: inline(output), handle: resolvedHandle }, times),
    isPinned: true,
  });
}

/** A disabled node does not run: it completes with null by its main handle. */
export const completeDisabled = (draft: Draft, nodeRef: PlanNodeRef): void =>
  recordOutcome(draft, nodeRef, {
    kind: 'finished',
    output: inline(null),
    handle: nodeRef.node.isLoop ? doneHandle : mainHandle,
  });

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

export interface AttemptTimes {
  readonly attempt: Attempt;
  readonly startedAt: Instant;
  readonly endedAt: Instant;
  readonly printed?: readonly string[];
  readonly tokens?: TokenCount;
}

/** The context keys `output` and `input` belong to the run; only an end node writes `output`. */
export const completionEvent = (
  { node, iteration }: PlanNodeRef,
  outcome: Extract<Outcome, { kind: 'finished' }>,
  times: AttemptTimes,
) => {
  const variable = outcome.end === undefined ? node.policy.outputVariable : 'output';
  return defined({
    type: 'NODE_COMPLETED' as const,
    nodeId: node.id,
    iteration,
    ...times,
    output: outcome.output,
    handle: outcome.handle,
    variable,
    end: outcome.end,
  });
};

/** Starts a loop over its items; a loop without items completes at once. */
function beginLoop(
  draft: Draft,
  nodeRef: PlanNodeRef,
  { kind: _kind, items: payload, ...settings }: Extract<Outcome, { kind: 'expanding' }>,
  attempt = firstAttempt,
): void {
  const { now } = draft.tools;
  const items = valueOf(payload, draft.tools.loaded);
  invariant(isJsonArray(items), `the items of loop ${nodeRef.node.id} are not an array`);
  if (items.length === 0) {
    const times = { attempt, startedAt: now, endedAt: now };
    return emit(draft, completionEvent(nodeRef, { kind: 'finished', output: inline([]), handle: doneHandle }, times));
  }
  const pageSize = pageSizeOf(items.length);
  emit(draft, {
    type: 'LOOP_STARTED',
    nodeId: nodeRef.node.id,
    iteration: nodeRef.iteration,
    attempt,
    ...settings,
    items: items.length,
    pages: pagesOf(items, pageSize).map(inline),
    pageSize,
  });
}

const pagesOf = (items: readonly JsonValue[], size: number): readonly JsonValue[] =>
  Array.from({ length: Math.ceil(items.length / size) }, (_, page) => items.slice(page * size, (page + 1) * size));
