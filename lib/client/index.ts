/** The client's public door. */
export { StepwellClient, type CreateDeploymentOptions, type TriggerOptions } from './client.ts';
export type { AwaitOptions, PollOptions } from './await-end.ts';
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
export type { WatchFrom } from './watch.ts';
export type { Upload, UploadOptions } from './upload.ts';
export { isDelta } from './shapes.ts';
export type { EndedRun, Run, RunDelta, RunEvent, RunNews, RunSummary, ScheduleSummary, WorkflowSummary } from './shapes.ts';
