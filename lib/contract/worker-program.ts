/** The interface between `stepwell worker start` and the worker program that it loads as a separate bundle. */
import type { EnvironmentName } from './environment.ts';

/** The environment of the code function, which a worker process needs too. */
export const codeWorkerEnvironment: readonly EnvironmentName[] = [
  'runsTable',
  'controlTable',
  'bucket',
  'codeQueueUrl',
  'delayQueueUrl',
  'delayQueueArn',
  'scheduleGroup',
  'scheduleRoleArn',
  'eventBusName',
  'runEvents',
  'codeVariables',
  'codeRoleArn',
  'worldFunction',
  'encryptsRuns',
  'apiAddress',
  'retentionDays',
  'idempotencyHours',
  'requireHttps',
  'metrics',
  'privateDestinations',
];

export interface WorkerLogLine {
  readonly level: 'info' | 'warn' | 'error';
  readonly message: string;
  /** fields for programs that read the log */
  readonly [fact: string]: unknown;
}

export interface CodeWorkerOptions {
  /** the variables of `codeWorkerEnvironment`, and AWS's variables, such as `AWS_ENDPOINT_URL` */
  readonly variables: Readonly<Record<string, string>>;
  /** maximum concurrent messages */
  readonly concurrency: number;
  /** after this time SQS redelivers the message of a crashed worker */
  readonly visibilityTimeoutSeconds: number;
  /** time limit for running workflow tasks to hand off when the worker stops */
  readonly drainSeconds: number;
  /** stops the worker */
  readonly stop: AbortSignal;
  readonly log: (line: WorkerLogLine) => void;
}

export type WorkerEnd =
  | { readonly kind: 'finished'; readonly completed: number; readonly remaining: number }
  /** `message` is the error of the service: a queue, a table or the credentials are wrong, or AWS is not reachable */
  | { readonly kind: 'refused' | 'unreachable'; readonly message: string }
  /** environment variables are missing */
  | { readonly kind: 'missing_variables'; readonly names: readonly string[] };

export type RunWorker = (options: CodeWorkerOptions) => Promise<WorkerEnd>;
