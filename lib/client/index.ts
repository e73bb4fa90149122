/** Public exports of the client. */
export { StepwellClient, type TriggerOptions } from './client.ts';
export type { CreateDeploymentOptions } from './control-calls.ts';
export type { AwaitOptions, PollOptions } from './await-run-end.ts';
export type { CallOptions } from './send-request.ts';
export type { IdempotentCallOptions } from './idempotency-keys.ts';
export type { ClientOptions, Fetch, Sleep } from './options.ts';
export {
  ComputeClientError,
  IdempotencyComputeClientError,
  RateLimitedComputeClientError,
  ScopeComputeClientError,
  TransportComputeClientError,
  UnauthorizedComputeClientError,
  type ClientErrorDetail,
} from './errors.ts';
export {
  RunNotCompletedError,
  type AwaitedRun,
  type RunHandle,
  type StartOptions,
  type TypedAnsweredRun,
  type TypedEndedRun,
  type WorkflowTypes,
} from './run-calls.ts';
export type { WatchOptions } from './watch-run.ts';
export type { Upload, UploadOptions } from './upload.ts';
export { isAnswered, isDelta } from './route-types.ts';
export type {
  AcceptedRun,
  BatchStart,
  AnsweredRun,
  EndedRun,
  Run,
  RunDelta,
  RunEvent,
  RunUpdate,
  RunSummary,
  ScheduleSummary,
  WorkflowSummary,
} from './route-types.ts';
