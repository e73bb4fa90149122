/** Converts states to the library's types: its spelling, its dates, and copies that callers may change. */
import type { JsonValue } from '../../engine/json.ts';
import type { ExternalState } from '../../engine/external/fold.ts';
import type * as engine from '../../engine/external/run.ts';
import type { Instant } from '../../engine/time.ts';
import type { Json, SerializedError, StepAttempt, WorkflowRun, WorkflowRunStatus } from './contract.ts';

/** The library spells it with one l. */
export const statusOf = (status: engine.ExternalStatus): WorkflowRunStatus => (status === 'cancelled' ? 'canceled' : status);

export const copyOf = (value: JsonValue): Json => {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((each: JsonValue) => copyOf(each));
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, copyOf(each)]));
};

const errorOf = (error: engine.ErrorRecord | null): SerializedError | null =>
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

export function toStepAttempt(namespaceId: string, { run }: ExternalState, step: engine.StepAttempt): StepAttempt {
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
