/** Converts the library's values to stored ones: plain JSON, and times as numbers. */
import { type JsonValue, isJsonObject } from '../../engine/json.ts';
import type { ExternalRetry } from '../../engine/external/decide.ts';
import type { ExternalCreation } from '../../engine/external/entry.ts';
import type { ErrorRecord, StepAttemptContext } from '../../engine/external/run.ts';
import { type Instant, instant } from '../../engine/time.ts';
import { parseDuration } from '../../sdk/duration.ts';
import { jsonValue } from '../../codec/events.ts';
import { readJson } from '../../codec/unreadable.ts';
import type { CreateWorkflowRun, RetryPolicy, SerializedError } from './contract.ts';

/** An absent value is stored as null. @throws TypeError for a value that has no JSON */
export const jsonOf = (value: unknown): JsonValue =>
  // `undefined` and functions have no JSON at all.
  readJson('the value', jsonValue, JSON.stringify(value ?? null) ?? 'null');

/** @throws TypeError for an invalid date */
export const momentOf = (date: Date): Instant => {
  if (Number.isNaN(date.getTime())) throw new TypeError('the date is not valid');
  return instant(date.getTime());
};

export const errorOf = (error: Readonly<SerializedError>): ErrorRecord => {
  const written = jsonOf(error);
  return isJsonObject(written) ? { ...written, message: error.message } : { message: error.message };
};

/** Only known fields: others would not be read again. */
export const contextOf = (context: StepAttemptContext | null): StepAttemptContext | null => {
  switch (context?.kind) {
    case undefined:
      return null;
    case 'sleep':
      return { kind: 'sleep', resumeAt: context.resumeAt };
    case 'workflow':
      return { kind: 'workflow', timeoutAt: context.timeoutAt };
    case 'signal-wait':
      return { kind: 'signal-wait', signal: context.signal, timeoutAt: context.timeoutAt };
  }
};

export const retryOf = ({ initialInterval, maximumInterval, ...policy }: RetryPolicy): ExternalRetry => ({
  ...policy,
  initialInterval: parseDuration(initialInterval),
  maximumInterval: parseDuration(maximumInterval),
});

export const creationOf = (options: CreateWorkflowRun, now: Instant): ExternalCreation => {
  const { parentStepAttemptNamespaceId: namespaceId, parentStepAttemptId: stepAttemptId, availableAt, deadlineAt } = options;
  return {
    workflowName: options.workflowName,
    version: options.version ?? null,
    idempotencyKey: options.idempotencyKey ?? null,
    config: jsonOf(options.config),
    context: jsonOf(options.context),
    input: jsonOf(options.input),
    // oxlint-disable-next-line eqeqeq -- older callers omit them
    parent: namespaceId == undefined || stepAttemptId == undefined ? null : { namespaceId, stepAttemptId },
    availableAt: availableAt instanceof Date ? momentOf(availableAt) : now,
    deadlineAt: deadlineAt instanceof Date ? momentOf(deadlineAt) : null,
  };
};
