/** What `stepwell worker start` and the program that it starts say to each other. The program comes as a bundle of its own. */
import type { EnvironmentName } from './environment.ts';

/** What the function that runs code is told, and so what a process in its place must be told. */
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
  'startedEvents',
  'codeVariables',
  'codeRoleArn',
  'retentionDays',
  'idempotencyHours',
  'requireHttps',
  'metrics',
];

export interface WorkerLogLine {
  readonly level: 'info' | 'warn' | 'error';
  readonly message: string;
  /** what it is about, for programs that read the log */
  readonly [fact: string]: unknown;
}

export interface CodeWorkerOptions {
  /** those of `codeWorkerEnvironment` by their names, and AWS's own, such as `AWS_ENDPOINT_URL` */
  readonly variables: Readonly<Record<string, string>>;
  /** messages at work at once */
  readonly concurrency: number;
  /** A message comes back so long after its worker has died. */
  readonly visibilityTimeoutSeconds: number;
  /** what is at work in the end may take so long for its next turn */
  readonly drainSeconds: number;
  /** ends it */
  readonly stop: AbortSignal;
  readonly log: (line: WorkerLogLine) => void;
}

export type WorkerEnd =
  | { readonly kind: 'finished'; readonly completed: number; readonly remaining: number }
  /** a queue, a table or the caller is wrong: in the words of the service */
  | { readonly kind: 'refused' | 'unreachable'; readonly message: string }
  /** what it was told is not enough */
  | { readonly kind: 'missing_variables'; readonly names: readonly string[] };

export type RunWorker = (options: CodeWorkerOptions) => Promise<WorkerEnd>;
