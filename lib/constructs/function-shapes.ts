/** The shape of each function: memory, timeout, permissions and environment variables. */
import type { EnvironmentName, FunctionName } from '../contract/environment.ts';
import type { PermissionName } from './permissions.ts';

export interface FunctionShape {
  readonly description: string;
  readonly memoryMb: number;
  readonly timeoutSeconds: number;
  /** size of /tmp; default: Lambda's 512 MB */
  readonly diskMb?: number;
  readonly permissions: readonly PermissionName[];
  /** environment variables besides those of its permissions */
  readonly extraEnvironment?: readonly EnvironmentName[];
  /** the code function invokes it, so it is a part of the same loops */
  readonly isInvokedByCode?: true;
  /**
   * The function consumes queues. It also sends messages to queues that invoke it, so it allows recursive loops: by default, Lambda
   * ends a chain of messages after about 16 invocations of one function. (docs/decisions/recursive-loops.md)
   */
  readonly consumesQueues?: boolean;
}

/** Advancing a run: read it, commit to it and dispatch the effects of the commit. */
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

/** Environment variables of every function: settings of the installation. */
export const commonEnvironment: readonly EnvironmentName[] = ['retentionDays', 'idempotencyHours', 'requireHttps', 'metrics'];

/** Every function that advances runs can also advance or end runs of deployed code. */
const advanceCodeRunPermissions: readonly PermissionName[] = ['send code messages', 'unpin deployments'];

/** Default timeout of the worker and of the code function; settings override it. */
export const defaultWorkerTimeoutSeconds = 900;

/** Timeout of the broadcaster. One that crashes is replaced after this time and one minute. */
export const broadcasterTimeoutSeconds = 120;

/** Timeout of the traces function. A request to a collector times out after ten seconds. */
export const tracesTimeoutSeconds = 60;

/** Timeout of the function of the triggers. A start takes about 0.1 s, and ten messages of a FIFO queue may start one after the other. */
export const startsTimeoutSeconds = 30;

/** Starting a run: record its idempotency key and pin its deployment. */
const startRunPermissions: readonly PermissionName[] = ['record idempotency keys', 'pin deployments'];

export const functionShapes: Record<FunctionName, FunctionShape> = {
  api: {
    description: 'Serves the HTTP API',
    extraEnvironment: ['corsOrigins', 'workerFunction', 'codeFunction'],
    memoryMb: 1024,
    // API Gateway's maximum for a response that is not streamed.
    timeoutSeconds: 29,
    permissions: [
      ...advanceRunPermissions,
      ...advanceCodeRunPermissions,
      ...startRunPermissions,
      'list deployments',
      'authenticate keys',
      'accept sessions',
      'list runs',
      'list external-worker runs',
      'read external-worker runs',
      'publish workflows',
      'edit drafts',
      'request deletions',
      'issue tickets',
      // A rerun of a DevKit run.
      'find registered applications',
    ],
  },
  events: {
    description: 'Streams the events of a run',
    extraEnvironment: ['corsOrigins'],
    memoryMb: 256,
    // API Gateway's maximum for an open stream. The function closes streams earlier.
    timeoutSeconds: 900,
    permissions: [
      'read runs',
      'read external-worker runs',
      'authenticate keys',
      'accept sessions',
      'redeem tickets',
      'manage reader leases',
      'read payloads',
    ],
  },
  deployments: {
    description: 'Receives, verifies and activates deployments',
    extraEnvironment: ['corsOrigins'],
    // An archive and its unpacked files are in memory together. At this size Lambda assigns one full vCPU.
    memoryMb: 1769,
    timeoutSeconds: 29,
    permissions: [
      'read runs',
      'authenticate keys',
      'accept sessions',
      'manage deployments',
      'find uses of workflows',
      'store artifacts',
      // Health checks of apps, and their answers.
      'find registered applications',
      'send code messages',
      'read health checks',
      'publish events',
    ],
  },
  library: {
    description: 'Manages lenses, queries, schedules, keys, sessions and the audit trail; serves the OpenAPI document',
    extraEnvironment: ['corsOrigins'],
    memoryMb: 512,
    timeoutSeconds: 29,
    permissions: [
      'authenticate keys',
      'accept sessions',
      'manage keys',
      'sign people in',
      'sign in with a provider',
      'describe the installation',
      'manage embeds',
      'list runs',
      'list external-worker runs',
      'read the audit trail',
      'manage lenses and queries',
      'manage schedule records',
      'read run definitions',
      'read runs',
      'manage schedules',
    ],
  },
  'test-runs': {
    description: 'Stops test runs and deletes their data',
    extraEnvironment: ['corsOrigins'],
    memoryMb: 512,
    timeoutSeconds: 29,
    permissions: [
      'read runs',
      'write runs',
      'authenticate keys',
      'accept sessions',
      'read run definitions',
      // The snapshot of a long run is a payload object.
      'read payloads',
      'send delayed jobs',
      'match signals',
      'delete runs',
      'release idempotency keys of tests',
    ],
  },
  worker: {
    description: 'Executes the nodes of workflows',
    extraEnvironment: ['privateDestinations'],
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
    description: 'Collects the results of wide joins and of many child runs',
    consumesQueues: true,
    memoryMb: 512,
    timeoutSeconds: 10,
    // The parent can be a run of code, which then needs a workflow task.
    permissions: [...advanceRunPermissions, ...advanceCodeRunPermissions],
  },
  sweep: {
    description: 'Recovers stale runs; continues deletions of workflows',
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
      // Of deleted workflows.
      'edit drafts',
    ],
  },
  'dead-letter': {
    description: 'Fails the nodes of dead letters',
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
    extraEnvironment: ['codeRoleArn', 'privateDestinations', 'worldFunction', 'encryptsRuns', 'apiAddress'],
    // Unpacked artifacts: up to 400 MB are cached, and a new one is unpacked before an old one is removed.
    diskMb: 1024,
    // Authors' code runs with this role, for every project: docs/decisions/code-function-permissions.md says what each is for.
    permissions: [
      'write runs of code',
      'write runs of the DevKit',
      'store payloads of code',
      'store payloads of the DevKit',
      'find registered applications',
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
    extraEnvironment: ['codeFunction'],
    memoryMb: 512,
    timeoutSeconds: 29,
    permissions: [
      ...advanceRunPermissions,
      ...advanceCodeRunPermissions,
      ...startRunPermissions,
      'list deployments',
      'record audit entries',
      'read secrets of webhooks',
      'find hooks by token',
    ],
  },
  starts: {
    description: 'Starts runs from the messages of triggers',
    consumesQueues: true,
    memoryMb: 512,
    timeoutSeconds: startsTimeoutSeconds,
    // Plus the queues of the triggers.
    permissions: [
      ...advanceRunPermissions,
      ...advanceCodeRunPermissions,
      ...startRunPermissions,
      'list deployments',
      // A start of a DevKit run.
      'find registered applications',
      'read triggers',
    ],
  },
  world: {
    description: 'Serves the World of the Workflow DevKit, and starts the code runs that code calls',
    isInvokedByCode: true,
    extraEnvironment: ['corsOrigins', 'privateDestinations'],
    memoryMb: 1024,
    timeoutSeconds: 29,
    permissions: [
      'authenticate keys',
      'accept sessions',
      'read runs',
      'create runs of the DevKit',
      'write runs of the DevKit',
      'write bundle runs',
      'list runs',
      'list external-worker runs',
      'store payloads of the DevKit',
      'store payloads of code',
      'derive keys of runs',
      'register applications',
      'find registered applications',
      'record idempotency keys',
      // A call names a workflow, which may be a graph. This function leaves graphs to the worker.
      'read run definitions',
      'pin deployments',
      'unpin deployments',
      'send delayed jobs',
      'send code messages',
      'set timers',
      'publish events',
    ],
  },
  console: {
    description: 'Serves the page of the console and its assets',
    // Large enough to answer a cold start soon. It reads files of its bundle only.
    memoryMb: 512,
    timeoutSeconds: 29,
    permissions: [],
  },
  sockets: {
    description: 'Accepts WebSocket connections and subscriptions to runs',
    extraEnvironment: ['corsOrigins'],
    memoryMb: 512,
    timeoutSeconds: 29,
    permissions: ['read runs', 'authenticate keys', 'redeem tickets', 'manage sockets', 'send watches'],
  },
  broadcaster: {
    description: 'Posts run updates to WebSocket clients',
    consumesQueues: true,
    // Updates for slow watchers are buffered in memory.
    memoryMb: 512,
    timeoutSeconds: broadcasterTimeoutSeconds,
    permissions: ['read runs', 'read payloads', 'recheck keys', 'manage sockets', 'send watches', 'post to sockets'],
  },
  traces: {
    description: 'Sends the traces of ended runs to a trace collector',
    consumesQueues: true,
    memoryMb: 512,
    timeoutSeconds: tracesTimeoutSeconds,
    extraEnvironment: ['traces'],
    // Plus the collector's secret, if the setting names one.
    permissions: ['read runs'],
  },
  'first-key': {
    description: 'Creates the first admin key, registers configured keys, stores large settings',
    memoryMb: 256,
    // Services may not know a new role yet, so the function retries for up to 90 seconds.
    timeoutSeconds: 180,
    permissions: ['store the first key', 'read secrets of seed keys', 'manage keys', 'record sweep progress', 'store settings'],
  },
};
