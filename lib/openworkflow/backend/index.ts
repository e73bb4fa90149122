/** `stepwell/openworkflow/backend`: where the package `openworkflow` keeps its runs. */
export { BackendStepwell, type ConnectOptions } from './connect.ts';
export { BackendFault, type BackendFaultCode } from './fault.ts';
export type { StepAttempt, WorkflowRun, WorkflowRunStatus } from './contract.ts';
