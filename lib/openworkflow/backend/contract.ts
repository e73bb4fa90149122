/**
 * The types of the `Backend` interface of the package `openworkflow`, version 0.10. They are structural, so this package does
 * not depend on that one.
 */
import type { StepAttemptContext, StepKind } from '../../engine/external/run.ts';

export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };

export interface SerializedError {
  name?: string;
  message: string;
  stack?: string;
  [key: string]: Json;
}

export type WorkflowRunStatus = 'pending' | 'running' | 'completed' | 'failed' | 'canceled';
/** The last two are statuses of older versions, which no run has here. */
type RequestedStatus = WorkflowRunStatus | 'sleeping' | 'succeeded';

export interface WorkflowRun {
  namespaceId: string;
  id: string;
  workflowName: string;
  version: string | null;
  status: WorkflowRunStatus;
  idempotencyKey: string | null;
  config: Json;
  context: Json | null;
  input: Json | null;
  output: Json | null;
  error: SerializedError | null;
  attempts: number;
  parentStepAttemptNamespaceId: string | null;
  parentStepAttemptId: string | null;
  workerId: string | null;
  availableAt: Date | null;
  deadlineAt: Date | null;
  startedAt: Date | null;
  finishedAt: Date | null;
  createdAt: Date;
  updatedAt: Date;
}

export interface StepAttempt {
  namespaceId: string;
  id: string;
  workflowRunId: string;
  stepName: string;
  kind: StepKind;
  status: 'running' | 'completed' | 'failed';
  config: Json;
  context: StepAttemptContext | null;
  output: Json | null;
  error: Json | null;
  childWorkflowRunNamespaceId: string | null;
  childWorkflowRunId: string | null;
  startedAt: Date | null;
  finishedAt: Date | null;
  createdAt: Date;
  updatedAt: Date;
}

export interface CreateWorkflowRun {
  readonly workflowName: string;
  readonly version: string | null;
  readonly idempotencyKey: string | null;
  readonly config: Json;
  readonly context: Json | null;
  readonly input: Json | null;
  readonly parentStepAttemptNamespaceId?: string | null;
  readonly parentStepAttemptId?: string | null;
  readonly availableAt: Date | null;
  readonly deadlineAt: Date | null;
}

export interface RunRef {
  readonly workflowRunId: string;
}
/** Operations that only the worker that has claimed the run may do. */
export interface WorkerRunRef extends RunRef {
  readonly workerId: string;
}
export interface StepRef extends WorkerRunRef {
  readonly stepAttemptId: string;
}

/** Delay between attempts: `min(initialInterval × backoffCoefficient^(attempts − 1), maximumInterval)`; 0 attempts: no limit. */
export interface RetryPolicy {
  readonly initialInterval: string;
  readonly backoffCoefficient: number;
  readonly maximumInterval: string;
  readonly maximumAttempts: number;
}

export interface FailWorkflowRun extends WorkerRunRef {
  readonly error: Readonly<SerializedError>;
  readonly retryPolicy: RetryPolicy;
  readonly attempts?: number;
  readonly deadlineAt?: Date | null;
}

export interface CreateStepAttempt extends WorkerRunRef {
  readonly stepName: string;
  readonly kind: StepKind;
  readonly config: Json;
  readonly context: StepAttemptContext | null;
}

export interface PageOptions {
  /** default: 100 */
  readonly limit?: number;
  readonly after?: string;
  readonly before?: string;
}
export interface ListWorkflowRuns extends PageOptions {
  readonly status?: RequestedStatus;
  readonly workflowName?: string;
}
export interface Page<Row> {
  data: Row[];
  pagination: { next: string | null; prev: string | null };
}

export interface SendSignal {
  readonly signal: string;
  readonly data: Json | null;
  readonly idempotencyKey: string | null;
}
