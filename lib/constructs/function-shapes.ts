/** What each function is: its memory and time, and what it may do. */
import type { EnvironmentName, FunctionName } from '../contract/environment.ts';
import type { PermissionName } from './permissions.ts';

export interface FunctionShape {
  readonly description: string;
  readonly memoryMb: number;
  readonly timeoutSeconds: number;
  /** Of the function's own disk. Default: the 512 MB that every function has. */
  readonly diskMb?: number;
  readonly permissions: readonly PermissionName[];
  /** What it is told beside what its permissions bring. */
  readonly extraEnvironment?: readonly EnvironmentName[];
  /**
   * Queues start it. Most of what it sends comes back to it, so Lambda's recursive loop detection must let it: by default
   * Lambda ends a chain of messages at about 16 invocations of one function. (docs/decisions/recursive-loops.md)
   */
  readonly consumesQueues?: boolean;
}

/** Whoever moves a run reads it, commits to it, and then sends what the commit asks for. */
const advanceRunPermissions: readonly PermissionName[] = [
  'read runs',
  'write runs',
  'read run definitions',
  'read payloads',
  'write payloads',
  'send node jobs',
  'send delayed jobs',
  'set timers',
  'publish events',
  'match signals',
];

/** What every function is told beside the names that its permissions bring: the product's own settings. */
export const commonEnvironment: readonly EnvironmentName[] = ['retentionDays', 'idempotencyHours', 'requireHttps', 'metrics'];

/** A run may end, and be moved on, wherever it is looked at: also one whose nodes are messages to a deployment's code. */
const advanceCodeRunPermissions: readonly PermissionName[] = ['send code messages', 'unpin deployments'];

/** The default of the worker and of the code's function; a setting of the product replaces it. */
export const defaultWorkerTimeoutSeconds = 900;

/** Of the function that speaks for watched runs: one that dies is replaced when this and a minute have passed. */
export const broadcasterTimeoutSeconds = 120;

/** Of the function that sends traces: a collector that hangs holds a request for ten seconds. */
export const tracesTimeoutSeconds = 60;

/** Whoever starts a run remembers the key of the start, and holds on to the deployment whose code it is. */
const startRunPermissions: readonly PermissionName[] = ['record idempotency keys', 'pin deployments'];

export const functionShapes: Record<FunctionName, FunctionShape> = {
  api: {
    description: 'Answers the HTTP API',
    extraEnvironment: ['corsOrigins'],
    memoryMb: 1024,
    // The longest that API Gateway waits for an answer that is not streamed.
    timeoutSeconds: 29,
    permissions: [
      ...advanceRunPermissions,
      ...advanceCodeRunPermissions,
      ...startRunPermissions,
      'authenticate keys',
      'list runs',
      'publish workflows',
      'request deletions',
      'issue tickets',
    ],
  },
  events: {
    description: 'Streams the events of a run to a watcher',
    extraEnvironment: ['corsOrigins'],
    memoryMb: 256,
    // The longest that API Gateway keeps a stream open. Streams close themselves earlier.
    timeoutSeconds: 900,
    permissions: ['read runs', 'authenticate keys', 'redeem tickets', 'manage reader leases', 'read payloads'],
  },
  deployments: {
    description: 'Takes, verifies and activates deployments',
    extraEnvironment: ['corsOrigins'],
    // An archive and what it unpacks to are in memory at once; at this size the function has a whole processor.
    memoryMb: 1769,
    timeoutSeconds: 29,
    permissions: ['read runs', 'authenticate keys', 'manage deployments', 'store artifacts', 'publish events'],
  },
  library: {
    description: 'Keeps what workflows use and who may: lenses, queries, schedules, keys; describes the API',
    extraEnvironment: ['corsOrigins'],
    memoryMb: 512,
    timeoutSeconds: 29,
    permissions: [
      'authenticate keys',
      'manage keys',
      'read the audit trail',
      'manage lenses and queries',
      'manage schedule records',
      'read run definitions',
      'read runs',
      'manage schedules',
    ],
  },
  'test-runs': {
    description: 'Stops test runs, and deletes what they wrote',
    extraEnvironment: ['corsOrigins'],
    memoryMb: 512,
    timeoutSeconds: 29,
    permissions: [
      'read runs',
      'write runs',
      'authenticate keys',
      'read run definitions',
      // The fold of a long run lies among them.
      'read payloads',
      'send delayed jobs',
      'match signals',
      'delete runs',
      'release idempotency keys of tests',
    ],
  },
  worker: {
    description: 'Runs the nodes of workflows',
    consumesQueues: true,
    memoryMb: 1024,
    timeoutSeconds: defaultWorkerTimeoutSeconds,
    permissions: [
      ...advanceRunPermissions,
      ...advanceCodeRunPermissions,
      ...startRunPermissions,
      'read lenses and queries',
      'manage concurrency slots',
      'send results',
      'read secrets of nodes',
      'call models',
      'query databases',
      'record schedule fires',
      'mark schedules for sync',
    ],
  },
  collect: {
    description: 'Gathers the results of wide joins, and the ends of many runs that one called',
    consumesQueues: true,
    memoryMb: 512,
    timeoutSeconds: 10,
    // Those who called may be of code, and are to be driven on.
    permissions: [...advanceRunPermissions, ...advanceCodeRunPermissions],
  },
  sweep: {
    description: 'Finds the runs that nothing moves, and moves them; continues deletions of workflows',
    memoryMb: 512,
    timeoutSeconds: 300,
    permissions: [
      ...advanceRunPermissions,
      ...advanceCodeRunPermissions,
      'find due runs',
      'record sweep progress',
      'manage schedules',
      'sync schedules',
      'delete runs',
      'continue deletions',
    ],
  },
  'dead-letter': {
    description: 'Fails the nodes whose messages nobody could work on',
    consumesQueues: true,
    memoryMb: 512,
    timeoutSeconds: 60,
    permissions: [
      ...advanceRunPermissions,
      ...advanceCodeRunPermissions,
      'record schedule fires',
      'replace broadcasters',
      'send watches',
    ],
  },
  code: {
    description: 'Runs the code of deployments',
    consumesQueues: true,
    memoryMb: 1024,
    timeoutSeconds: defaultWorkerTimeoutSeconds,
    extraEnvironment: ['codeRoleArn'],
    // Unpacked artifacts: 400 MB are kept, and the next one is unpacked before an older one goes.
    diskMb: 1024,
    // Authors' code runs with this role, for every project: docs/decisions/code-function-permissions.md says what each is for.
    permissions: [
      'write runs of code',
      'store payloads of code',
      'read deployments',
      'read code variables',
      'unpin deployments',
      'read artifacts',
      'send delayed jobs',
      'send code messages',
      'set timers',
      'publish events',
    ],
  },
  webhooks: {
    description: 'Takes webhooks',
    memoryMb: 512,
    timeoutSeconds: 29,
    permissions: [
      ...advanceRunPermissions,
      ...advanceCodeRunPermissions,
      ...startRunPermissions,
      'record audit entries',
      'read secrets of webhooks',
    ],
  },
  sockets: {
    description: 'Answers sockets: who opens one, and which runs are to be watched',
    extraEnvironment: ['corsOrigins'],
    memoryMb: 512,
    timeoutSeconds: 29,
    permissions: ['read runs', 'authenticate keys', 'redeem tickets', 'manage sockets', 'send watches'],
  },
  broadcaster: {
    description: 'Tells those who watch a run over sockets what happens',
    consumesQueues: true,
    // What waits for watchers that are slow is in memory.
    memoryMb: 512,
    timeoutSeconds: broadcasterTimeoutSeconds,
    permissions: ['read runs', 'read payloads', 'recheck keys', 'manage sockets', 'send watches', 'post to sockets'],
  },
  traces: {
    description: 'Sends the traces of ended runs to a collector',
    consumesQueues: true,
    memoryMb: 512,
    timeoutSeconds: tracesTimeoutSeconds,
    extraEnvironment: ['traces'],
    // And the collector's secret, where the setting names one.
    permissions: ['read runs'],
  },
  'first-key': {
    description: 'Makes the first key, registers those of the configuration, writes its large settings',
    memoryMb: 256,
    // A role that was only just made may be unknown to a service for a while: it asks again until then.
    timeoutSeconds: 180,
    permissions: ['store the first key', 'read secrets of seed keys', 'manage keys', 'record sweep progress', 'store settings'],
  },
};
