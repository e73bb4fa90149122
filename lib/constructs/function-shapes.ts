/** What each function is: its memory and time, and what it may do. */
import type { EnvironmentName, FunctionName } from '../contract/environment.ts';
import type { PermissionName } from './permissions.ts';

export interface FunctionShape {
  readonly description: string;
  readonly memoryMb: number;
  readonly timeoutSeconds: number;
  /** Of the function's own disk. Default: the 512 MB that every function has. */
  readonly diskMb?: number;
  readonly may: readonly PermissionName[];
  /** What it is told beside what its permissions bring. */
  readonly told?: readonly EnvironmentName[];
  /**
   * Queues start it. Most of what it sends comes back to it, so Lambda's recursive loop detection must let it: by default
   * Lambda ends a chain of messages at about 16 invocations of one function. (docs/decisions/recursive-loops.md)
   */
  readonly consumesQueues?: boolean;
}

/** Whoever moves a run reads it, commits to it, and then sends what the commit asks for. */
const movesRuns: readonly PermissionName[] = [
  'read runs',
  'write runs',
  'read what runs are made from',
  'read payloads',
  'write payloads',
  'send node jobs',
  'send delayed jobs',
  'set timers',
  'tell the bus',
  'match signals',
];

/** What every function is told beside the names that its permissions bring: the product's own settings. */
export const toldToAll: readonly EnvironmentName[] = ['retentionDays', 'idempotencyHours', 'requireHttps', 'metrics'];

/** A run may end, and be moved on, wherever it is looked at: also one whose nodes are messages to a deployment's code. */
const movesCode: readonly PermissionName[] = ['send code messages', 'end holds on deployments'];

/** The default of the worker and of the code's function; a setting of the product replaces it. */
export const defaultWorkerTimeoutSeconds = 900;

/** Of the function that speaks for watched runs: one that dies is replaced when this and a minute have passed. */
export const speakerTimeoutSeconds = 120;

/** Of the function that sends traces: a collector that hangs holds a request for ten seconds. */
export const tracesTimeoutSeconds = 60;

/** Whoever starts a run remembers the key of the start, and holds on to the deployment whose code it is. */
const startsRuns: readonly PermissionName[] = ['remember starts', 'hold deployments'];

export const functionShapes: Record<FunctionName, FunctionShape> = {
  api: {
    description: 'Answers the HTTP API',
    told: ['corsOrigins'],
    memoryMb: 1024,
    // The longest that API Gateway waits for an answer that is not streamed.
    timeoutSeconds: 29,
    may: [
      ...movesRuns,
      ...movesCode,
      ...startsRuns,
      'let keys in',
      'list runs',
      'publish workflows',
      'ask for deletions',
      'give tickets',
    ],
  },
  events: {
    description: 'Streams the events of a run to a watcher',
    told: ['corsOrigins'],
    memoryMb: 256,
    // The longest that API Gateway keeps a stream open. Streams close themselves earlier.
    timeoutSeconds: 900,
    may: ['read runs', 'let keys in', 'take tickets', 'keep seats', 'read payloads'],
  },
  deployments: {
    description: 'Takes, verifies and activates deployments',
    told: ['corsOrigins'],
    // An archive and what it unpacks to are in memory at once; at this size the function has a whole processor.
    memoryMb: 1769,
    timeoutSeconds: 29,
    may: ['read runs', 'let keys in', 'keep deployments', 'keep artifacts', 'tell the bus'],
  },
  library: {
    description: 'Keeps what workflows use and who may: lenses, queries, schedules, keys; describes the API',
    told: ['corsOrigins'],
    memoryMb: 512,
    timeoutSeconds: 29,
    may: [
      'let keys in',
      'keep keys',
      'read the audit trail',
      'keep lenses and queries',
      'keep records of schedules',
      'read what runs are made from',
      'read runs',
      'keep schedules',
    ],
  },
  'test-runs': {
    description: 'Stops test runs, and deletes what they wrote',
    told: ['corsOrigins'],
    memoryMb: 512,
    timeoutSeconds: 29,
    may: [
      'read runs',
      'write runs',
      'let keys in',
      'read what runs are made from',
      // The fold of a long run lies among them.
      'read payloads',
      'send delayed jobs',
      'match signals',
      'delete runs',
      'release keys of tests',
    ],
  },
  worker: {
    description: 'Runs the nodes of workflows',
    consumesQueues: true,
    memoryMb: 1024,
    timeoutSeconds: defaultWorkerTimeoutSeconds,
    may: [
      ...movesRuns,
      ...movesCode,
      ...startsRuns,
      'read lenses and queries',
      'keep places',
      'send results',
      'read secrets of nodes',
      'ask models',
      'ask databases',
      'note fires',
      'mark alarms',
    ],
  },
  collect: {
    description: 'Gathers the results of wide joins, and the ends of many runs that one called',
    consumesQueues: true,
    memoryMb: 512,
    timeoutSeconds: 10,
    // Those who called may be of code, and are to be driven on.
    may: [...movesRuns, ...movesCode],
  },
  sweep: {
    description: 'Finds the runs that nothing moves, and moves them; continues deletions of workflows',
    memoryMb: 512,
    timeoutSeconds: 300,
    may: [
      ...movesRuns,
      ...movesCode,
      'find due runs',
      'note the sweep',
      'keep schedules',
      'settle schedules',
      'delete runs',
      'continue deletions',
    ],
  },
  'dead-letter': {
    description: 'Fails the nodes whose messages nobody could work on',
    consumesQueues: true,
    memoryMb: 512,
    timeoutSeconds: 60,
    may: [...movesRuns, ...movesCode, 'note fires', 'replace speakers', 'send watches'],
  },
  code: {
    description: 'Runs the code of deployments',
    consumesQueues: true,
    memoryMb: 1024,
    timeoutSeconds: defaultWorkerTimeoutSeconds,
    told: ['codeRoleArn'],
    // Unpacked artifacts: 400 MB are kept, and the next one is unpacked before an older one goes.
    diskMb: 1024,
    // Authors' code runs with this role, for every project: docs/decisions/code-function-permissions.md says what each is for.
    may: [
      'write runs of code',
      'keep payloads of code',
      'read deployments',
      'read code variables',
      'end holds on deployments',
      'read artifacts',
      'send delayed jobs',
      'send code messages',
      'set timers',
      'tell the bus',
    ],
  },
  webhooks: {
    description: 'Takes webhooks',
    memoryMb: 512,
    timeoutSeconds: 29,
    may: [...movesRuns, ...movesCode, ...startsRuns, 'record failures', 'read secrets of webhooks'],
  },
  sockets: {
    description: 'Answers sockets: who opens one, and which runs are to be watched',
    told: ['corsOrigins'],
    memoryMb: 512,
    timeoutSeconds: 29,
    may: ['read runs', 'let keys in', 'take tickets', 'keep sockets', 'send watches'],
  },
  speaker: {
    description: 'Tells those who watch a run over sockets what happens',
    consumesQueues: true,
    // What waits for watchers that are slow is in memory.
    memoryMb: 512,
    timeoutSeconds: speakerTimeoutSeconds,
    may: ['read runs', 'read payloads', 'recheck keys', 'keep sockets', 'send watches', 'post to sockets'],
  },
  traces: {
    description: 'Sends the traces of ended runs to a collector',
    consumesQueues: true,
    memoryMb: 512,
    timeoutSeconds: tracesTimeoutSeconds,
    told: ['traces'],
    // And the collector's secret, where the setting names one.
    may: ['read runs'],
  },
  'first-key': {
    description: 'Makes the first key, registers those of the configuration, writes its large settings',
    memoryMb: 256,
    // A role that was only just made may be unknown to a service for a while: it asks again until then.
    timeoutSeconds: 180,
    may: ['keep the first key', 'read secrets of seed keys', 'keep keys', 'note the sweep', 'keep settings'],
  },
};
