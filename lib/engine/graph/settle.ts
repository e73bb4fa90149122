/** Puts on the record what became of a node: it ended, it waits, or it goes through its items. */
import { type Attempt, firstAttempt } from '../ids.ts';
import type { Failure } from '../log/events.ts';
import { awaitSignal } from './await-signal.ts';
import { beginLoop } from './begin-loop.ts';
import { callSubflow } from './call-subflow.ts';
import { type Times, completed } from './completed.ts';
import { type Draft, emit } from './draft.ts';
import { haltRun } from './finish.ts';
import { type Outcome, errorHandle } from './outcome.ts';
import type { Place } from './plan.ts';
import { storable } from './storable.ts';

/** Records what became of a node that needs no worker. It is not retried: the same context gives the same answer. */
export function settle(draft: Draft, place: Place, given: Outcome): void {
  const { now } = draft.tools;
  const outcome = storable(given);
  switch (outcome.kind) {
    case 'finished':
      return emit(draft, completed(place, outcome, { attempt: firstAttempt, startedAt: now, endedAt: now }));
    case 'failed':
      return fail(draft, place, outcome.failure);
    case 'sleeping':
      return sleep(draft, place, outcome);
    case 'awaiting':
      return awaitSignal(draft, place, outcome);
    case 'calling':
      return callSubflow(draft, place, outcome);
    case 'expanding':
      return beginLoop(draft, place, outcome);
  }
}

export function sleep(draft: Draft, place: Place, outcome: Extract<Outcome, { kind: 'sleeping' }>, attempt = firstAttempt): void {
  if (outcome.wakeAt > draft.tools.deadlineAt) {
    return fail(
      draft,
      place,
      { cause: 'deadline', code: 'sleep_past_deadline', message: 'the sleep would end after the deadline of the run' },
      attempt,
    );
  }
  emit(draft, {
    type: 'SLEEP_STARTED',
    nodeId: place.node.id,
    iteration: place.iteration,
    attempt,
    wakeAt: outcome.wakeAt,
    output: outcome.output,
  });
}

/** A failure that is not tried again: the error edge takes it, or the run ends, or each child's policy decides. */
export function fail(draft: Draft, place: Place, failure: Failure, attempt = firstAttempt, times?: Omit<Times, 'attempt'>): void {
  recordFailure(draft, place, failure, attempt, times);
  if (place.node.policy.errorHandling === 'fail_workflow') haltRun(draft, place);
}

/** The failure alone, where something else ends the run. */
export function recordFailure(
  draft: Draft,
  { node, iteration }: Place,
  failure: Failure,
  attempt: Attempt,
  times?: Omit<Times, 'attempt'>,
): void {
  const { now } = draft.tools;
  const isHandled = node.policy.errorHandling === 'continue' && node.outbound.some((edge) => edge.sourceHandle === errorHandle);
  emit(draft, {
    type: 'NODE_FAILED',
    nodeId: node.id,
    iteration,
    attempt,
    failure,
    ...(isHandled ? { handle: 'error' as const } : {}),
    ...(isHandled && node.policy.outputVariable !== undefined ? { variable: node.policy.outputVariable } : {}),
    startedAt: times?.startedAt ?? now,
    endedAt: times?.endedAt ?? now,
    ...(times?.printed === undefined ? {} : { printed: times.printed }),
    ...(times?.tokens === undefined ? {} : { tokens: times.tokens }),
  });
}
