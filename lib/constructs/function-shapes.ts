/** What each function is: its memory and time, and what it may do. */
import type { EnvironmentName, FunctionName } from '../contract/environment.ts';
import type { PermissionName } from './permissions.ts';

export interface FunctionShape {
  readonly description: string;
  readonly memoryMb: number;
  readonly timeoutSeconds: number;
  readonly may: readonly PermissionName[];
}

/** Whoever moves a run reads it, commits to it, and then sends what the commit asks for. */
const movesRuns: readonly PermissionName[] = [
  'read runs',
  'write runs',
  'read control records',
  'read payloads',
  'write payloads',
  'send node jobs',
  'send delayed jobs',
  'set timers',
  'tell the bus',
];

/** What every function is told beside the names that its permissions bring: how long the product keeps things. */
export const toldToAll: readonly EnvironmentName[] = ['retentionDays', 'idempotencyHours'];

/** The worker's default; a setting of the product replaces it. */
export const defaultWorkerTimeoutSeconds = 900;

export const functionShapes: Record<FunctionName, FunctionShape> = {
  api: {
    description: 'Answers the HTTP API',
    memoryMb: 1024,
    // The longest that API Gateway waits for an answer that is not streamed.
    timeoutSeconds: 29,
    may: [...movesRuns, 'list runs', 'list control records', 'write control records', 'release reservations'],
  },
  events: {
    description: 'Streams the events of a run to a watcher',
    memoryMb: 256,
    // The longest that API Gateway keeps a stream open. Streams close themselves earlier.
    timeoutSeconds: 900,
    // Writes control records: the request counts against the rate, and a failed authentication is audited.
    may: ['read runs', 'read control records', 'write control records', 'read payloads'],
  },
  worker: {
    description: 'Runs the nodes of workflows',
    memoryMb: 1024,
    timeoutSeconds: defaultWorkerTimeoutSeconds,
    may: [...movesRuns, 'send results'],
  },
  collect: {
    description: 'Gathers the results of wide joins',
    memoryMb: 512,
    timeoutSeconds: 10,
    may: movesRuns,
  },
  sweep: {
    description: 'Finds the runs that nothing moves, and moves them',
    memoryMb: 512,
    timeoutSeconds: 300,
    may: [...movesRuns, 'note the sweep'],
  },
  'dead-letter': {
    description: 'Fails the nodes whose messages nobody could work on',
    memoryMb: 512,
    timeoutSeconds: 60,
    may: movesRuns,
  },
};
