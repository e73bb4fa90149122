/** Turns the end of a step attempt into a log entry: completed, retried or failed. */
import { defined } from '../base/defined.ts';
import { type StepRetry, isFinalFailure, decideRetry, stepRetryDefaults } from '../engine/durable/step.ts';
import type { StepResult, CommandBatchEntry } from '../engine/durable/command-batch.ts';
import type { JsonValue } from '../engine/json.ts';
import { type Instant, seconds } from '../engine/time.ts';
import type { StepFunctionEnd } from './step-functions.ts';
import type { StepInProgress } from './steps-in-progress.ts';

export type EndEntry = Extract<CommandBatchEntry, { kind: 'completed' | 'retried' | 'failed' }>;

export interface RetryInputs {
  readonly retry: StepRetry | undefined;
  readonly now: Instant;
  readonly deadlineAt: Instant;
  /** no further attempt is possible, so a failure is final */
  readonly isLast: boolean;
}

export function stepEndEntry(
  { key, attempt, startedAt, endedAt, printed, outcome }: StepFunctionEnd,
  lost: number,
  inputs: RetryInputs,
): EndEntry {
  const attemptRecord = defined({ key, attempt, startedAt, endedAt, printed: printed.length === 0 ? undefined : printed });
  if (outcome.kind === 'completed') return { kind: 'completed', ...attemptRecord, output: outcome.output };
  const { failure, isNonRetryable = false } = outcome;
  const { now, deadlineAt } = inputs;
  const isFinal = inputs.isLast || isNonRetryable || isFinalFailure(failure);
  // Lost attempts do not count against maximumAttempts.
  const decision = decideRetry(
    { ...stepRetryDefaults, ...inputs.retry },
    { failedAttempt: attempt - lost, isFinal, now, deadlineAt },
  );
  if (decision.kind === 'give_up') return { kind: 'failed', ...attemptRecord, failure };
  return { kind: 'retried', ...attemptRecord, failure, delayMs: decision.delayMs, retryAt: decision.retryAt };
}

/** The worker of this attempt is gone. The step is retried immediately. */
export const lostEntry = ({ key, attempt }: StepInProgress, now: Instant): Extract<EndEntry, { kind: 'retried' }> => ({
  kind: 'retried',
  key,
  attempt,
  startedAt: now,
  endedAt: now,
  failure: { cause: 'lost', message: 'the worker stopped before this attempt ended' },
  delayMs: seconds(0),
  retryAt: now,
});

/** The result that the code gets; undefined when the step is retried. */
export function resultOf(entry: EndEntry): StepResult<JsonValue> | undefined {
  if (entry.kind === 'completed') return { status: 'completed', output: entry.output, endedAt: entry.endedAt };
  if (entry.kind === 'failed') return { status: 'failed', failure: entry.failure, endedAt: entry.endedAt };
  return undefined;
}
