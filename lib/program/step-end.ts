/** What a body that has ended comes to in the log: done, tried again, or failed for good. */
import { isFinalFailure, judgeFailure, stepRetryDefaults } from '../engine/durable/step-retry.ts';
import type { StepRetry } from '../engine/durable/step.ts';
import type { StepResult, TurnEntry } from '../engine/durable/turn.ts';
import type { JsonValue } from '../engine/json.ts';
import { type Instant, seconds } from '../engine/time.ts';
import type { BodyEnd } from './bodies.ts';
import type { UnderWay } from './steps-under-way.ts';

export type EndEntry = Extract<TurnEntry, { kind: 'completed' | 'retried' | 'failed' }>;

export interface JudgedBy {
  readonly retry: StepRetry | undefined;
  readonly now: Instant;
  readonly deadlineAt: Instant;
  /** nobody awaits it any more, or there are no more attempts: it has failed for good */
  readonly isLast: boolean;
}

export function entryOf({ key, attempt, startedAt, endedAt, printed, came }: BodyEnd, lost: number, by: JudgedBy): EndEntry {
  const worked = { key, attempt, startedAt, endedAt, ...(printed.length === 0 ? {} : { printed }) };
  if (came.kind === 'did') return { kind: 'completed', ...worked, output: came.output };
  const { failure, isAnswer = false } = came;
  const { now, deadlineAt } = by;
  const isFinal = by.isLast || isAnswer || isFinalFailure(failure);
  // What was lost was nobody's failure.
  const judged = judgeFailure({ ...stepRetryDefaults, ...by.retry }, { failed: attempt - lost, isFinal, now, deadlineAt });
  if (judged.kind === 'over') return { kind: 'failed', ...worked, failure };
  return { kind: 'retried', ...worked, failure, delayMs: judged.delayMs, retryAt: judged.retryAt };
}

/** Whoever was at work on it is gone: it is tried again at once. */
export const lostEntry = ({ key, attempt }: UnderWay, now: Instant): Extract<EndEntry, { kind: 'retried' }> => ({
  kind: 'retried',
  key,
  attempt,
  startedAt: now,
  endedAt: now,
  failure: { cause: 'lost', message: 'whoever was at work on this attempt did not come to an end of it' },
  delayMs: seconds(0),
  retryAt: now,
});

/** What the code is told; undefined: nothing, because it is tried again. */
export function resultOf(entry: EndEntry): StepResult<JsonValue> | undefined {
  if (entry.kind === 'completed') return { status: 'completed', output: entry.output, endedAt: entry.endedAt };
  if (entry.kind === 'failed') return { status: 'failed', failure: entry.failure, endedAt: entry.endedAt };
  return undefined;
}
