/** `stepwell/openworkflow`: the API of the package `openworkflow`, implemented by Stepwell. */
export type { DurationString } from '../sdk/duration.ts';
export { NonRetryableError } from '../sdk/errors.ts';
export type { RetryPolicy } from '../sdk/retry-policy.ts';
export type { WorkflowRunHandle, WorkflowRunResultOptions } from './handle.ts';
export {
  type DeliveredSignal,
  OpenWorkflow,
  type OpenWorkflowOptions,
  type RunnableWorkflow,
  Worker,
  type WorkerOptions,
  type WorkflowRunOptions,
} from './open-workflow.ts';
export type { SentSignal, StepApi, StepRunOptions, StepSignalOptions, StepWaitOptions, StepWorkflowOptions } from './step.ts';
export {
  type Workflow,
  type WorkflowFunction,
  type WorkflowFunctionParams,
  type WorkflowRunMetadata,
  declareWorkflow,
  defineWorkflow,
  defineWorkflowSpec,
} from './workflow.ts';
