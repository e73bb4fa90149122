/** `stepwell/openworkflow/backend`: where the package `openworkflow` keeps its runs. */
export { BackendStepwell, type ConnectOptions } from './connect.ts';
export { BackendError, type BackendErrorCode } from './backend-error.ts';
export type { StepAttempt, WorkflowRun, WorkflowRunStatus } from './contract.ts';
