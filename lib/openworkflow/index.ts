/** `stepwell/openworkflow`: the API of the package `openworkflow`, implemented by Stepwell. */
export type { DurationString } from '../sdk/duration.ts';
export { NonRetryableError } from '../sdk/errors.ts';
export type { RetryPolicy } from '../sdk/retry-policy.ts';
export type { WorkflowRunHandle, WorkflowRunResultOptions } from './handle.ts';
export { OpenWorkflow, type OpenWorkflowOptions, type RunnableWorkflow, type WorkflowRunOptions } from './open-workflow.ts';
export type { SentSignal } from './sent-signal.ts';
export type { StepApi, StepRunOptions, StepSignalOptions, StepWaitOptions, StepWorkflowOptions } from './step.ts';
export { Worker, type WorkerOptions } from './worker.ts';
export {
  type Workflow,
  type WorkflowFunction,
  type WorkflowFunctionParams,
  type WorkflowRunMetadata,
  declareWorkflow,
  defineWorkflow,
  defineWorkflowSpec,
} from './workflow.ts';
