/** `stepwell/sdk`: the API for authors of code workflows. */
export { type Config, defineConfig } from './config.ts';
export { type Duration, type DurationString } from './duration.ts';
export { NonRetryableError, StepError } from './errors.ts';
export type { RetryPolicy } from './retry-policy.ts';
export type { StandardSchema } from './standard-schema.ts';
export type {
  RollbackContext,
  RunWorkflowOptions,
  SendSignalOptions,
  SentSignal,
  Step,
  StepContext,
  StepOptions,
  WaitForSignalOptions,
} from './step.ts';
export type { Stored } from './stored.ts';
export {
  type Logger,
  type RunMetadata,
  type Workflow,
  type WorkflowArguments,
  type WorkflowFunction,
  type WorkflowSpec,
  defineWorkflow,
  defineWorkflowSpec,
} from './workflow.ts';
