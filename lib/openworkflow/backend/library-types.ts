/**
 * Converts between the library's values and stored ones. Stored values are plain JSON with times as numbers. The library gets its own
 * spelling, dates, and copies that callers may change.
 */
import { readJson } from '../../codec/unreadable.ts';
import { jsonValue } from '../../codec/events.ts';
import type { ExternalRetry } from '../../engine/external/decide.ts';
import type { ExternalCreation } from '../../engine/external/entry.ts';
import type { ExternalState } from '../../engine/external/fold.ts';
import type {
  ErrorRecord,
  ExternalStatus,
  StepAttempt as ExternalStepAttempt,
  StepAttemptContext,
} from '../../engine/external/run.ts';
import { type JsonValue, isJsonObject } from '../../engine/json.ts';
import { type Instant, instant } from '../../engine/time.ts';
import { parseDuration } from '../../sdk/duration.ts';
import type {
  CreateWorkflowRun,
  Json,
  RetryPolicy,
  SerializedError,
  StepAttempt,
  WorkflowRun,
  WorkflowRunStatus,
} from './contract.ts';

/** An absent value is stored as null. @throws TypeError for a value that has no JSON */
export const jsonOf = (value: unknown): JsonValue =>
  // `undefined` and functions have no JSON at all.
  readJson('the value', jsonValue, JSON.stringify(value ?? null) ?? 'null');

/** @throws TypeError for an invalid date */
export const momentOf = (date: Date): Instant => {
  if (Number.isNaN(date.getTime())) throw new TypeError('the date is not valid');
  return instant(date.getTime());
};

export const errorRecordOf = (error: Readonly<SerializedError>): ErrorRecord => {
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

/** The library spells it with one l. */
export const statusOf = (status: ExternalStatus): WorkflowRunStatus => (status === 'cancelled' ? 'canceled' : status);

export const copyOf = (value: JsonValue): Json => {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((each: JsonValue) => copyOf(each));
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, copyOf(each)]));
};

const errorOf = (error: ErrorRecord | null): SerializedError | null =>
  error && { ...Object.fromEntries(Object.entries(error).map(([key, each]) => [key, copyOf(each)])), message: error.message };

const dateOf = (moment: Instant | null): Date | null => (moment === null ? null : new Date(moment));

export function toWorkflowRun(namespaceId: string, { run }: ExternalState): WorkflowRun {
  const { id, workflowName, version, idempotencyKey, attempts, parent, workerId } = run;
  return {
    namespaceId,
    id,
    workflowName,
    version,
    status: statusOf(run.status),
    idempotencyKey,
    config: copyOf(run.config),
    context: copyOf(run.context),
    input: copyOf(run.input),
    output: copyOf(run.output),
    error: errorOf(run.error),
    attempts,
    parentStepAttemptNamespaceId: parent?.namespaceId ?? null,
    parentStepAttemptId: parent?.stepAttemptId ?? null,
    workerId,
    availableAt: dateOf(run.availableAt),
    deadlineAt: dateOf(run.deadlineAt),
    startedAt: dateOf(run.startedAt),
    finishedAt: dateOf(run.finishedAt),
    createdAt: new Date(run.createdAt),
    updatedAt: new Date(run.updatedAt),
  };
}

export function toStepAttempt(namespaceId: string, { run }: ExternalState, step: ExternalStepAttempt): StepAttempt {
  return {
    namespaceId,
    id: step.id,
    workflowRunId: run.id,
    stepName: step.stepName,
    kind: step.kind,
    status: step.status,
    config: copyOf(step.config),
    context: step.context && { ...step.context },
    output: copyOf(step.output),
    error: errorOf(step.error),
    childWorkflowRunNamespaceId: step.child?.namespaceId ?? null,
    childWorkflowRunId: step.child?.runId ?? null,
    startedAt: new Date(step.startedAt),
    finishedAt: dateOf(step.finishedAt),
    createdAt: new Date(step.startedAt),
    updatedAt: new Date(step.updatedAt),
  };
}
