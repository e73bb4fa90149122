/** The client's public door. */
export { StepwellClient, type CreateDeploymentOptions, type PollOptions, type TriggerOptions } from './client.ts';
export type { CallOptions } from './ask.ts';
export type { KeyedOptions } from './keyed.ts';
export type { ClientOptions, Fetch, Sleep } from './options.ts';
export {
  ComputeClientError,
  IdempotencyComputeClientError,
  RateLimitedComputeClientError,
  ScopeComputeClientError,
  TransportComputeClientError,
  UnauthorizedComputeClientError,
  type ClientFault,
} from './errors.ts';
export type { Upload, UploadOptions } from './upload.ts';
export type { EndedRun, Run, RunEvent, RunSummary, WorkflowSummary } from './shapes.ts';
