/** `stepwell/openworkflow/backend`: the storage backend for the package `openworkflow`. */
export { BackendStepwell, type ConnectOptions } from './connect.ts';
export { BackendError, type BackendErrorCode } from './backend-error.ts';
export type { StepAttempt, WorkflowRun, WorkflowRunStatus } from './contract.ts';
