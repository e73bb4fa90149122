/** The names that the stacks give to the functions and the functions read. Both sides take them from here. */
export const environmentNames = {
  runsTable: 'STEPWELL_RUNS_TABLE',
  controlTable: 'STEPWELL_CONTROL_TABLE',
  bucket: 'STEPWELL_BUCKET',
  nodeQueueUrl: 'STEPWELL_NODE_QUEUE_URL',
  /** workers at once on the node queue */
  nodeConcurrency: 'STEPWELL_NODE_CONCURRENCY',
  /** how many of them one project may take, in percent */
  maxProjectShare: 'STEPWELL_MAX_PROJECT_SHARE',
  delayQueueUrl: 'STEPWELL_DELAY_QUEUE_URL',
  resultsQueueUrl: 'STEPWELL_RESULTS_QUEUE_URL',
  /** messages for the code of deployments */
  codeQueueUrl: 'STEPWELL_CODE_QUEUE_URL',
  /** who speaks for watched runs is asked for here */
  watchQueueUrl: 'STEPWELL_WATCH_QUEUE_URL',
  /** where clients open sockets */
  socketsUrl: 'STEPWELL_SOCKETS_URL',
  /** what one-time schedules deliver to */
  delayQueueArn: 'STEPWELL_DELAY_QUEUE_ARN',
  scheduleGroup: 'STEPWELL_SCHEDULE_GROUP',
  /** the role with which schedules send to the delay queue */
  scheduleRoleArn: 'STEPWELL_SCHEDULE_ROLE_ARN',
  eventBusName: 'STEPWELL_EVENT_BUS_NAME',
  /** `true`: the bus is told when a run has begun, too */
  startedEvents: 'STEPWELL_STARTED_EVENTS',
  /** how long an ended run is kept after its latest end, in days */
  retentionDays: 'STEPWELL_RETENTION_DAYS',
  /** how long an idempotency key is remembered, in hours */
  idempotencyHours: 'STEPWELL_IDEMPOTENCY_HOURS',
  /** how many streams of events may be open at once; empty: as many as come */
  watchers: 'STEPWELL_WATCHERS',
  /** `true`: what runs and nodes do is counted in CloudWatch */
  metrics: 'STEPWELL_METRICS',
  /** `true`: requests that are not proven to have come over HTTPS are refused */
  requireHttps: 'STEPWELL_REQUIRE_HTTPS',
  /** origins of pages that may call the API from a browser, with commas between; empty: none */
  corsOrigins: 'STEPWELL_CORS_ORIGINS',
  /** JSON: where the traces of ended runs are sent. It names a secret and holds none. */
  traces: 'STEPWELL_TRACES',
  // Versions of settings whose texts are items of the control table: lib/contract/stored-settings.ts.
  /** who may send webhooks, by name */
  webhooks: 'STEPWELL_WEBHOOKS',
  /** which secrets the nodes of which project may use, by name */
  secrets: 'STEPWELL_SECRETS',
  /** which models there are, by name */
  models: 'STEPWELL_MODELS',
  /** who moderates */
  moderation: 'STEPWELL_MODERATION',
  /** which databases the queries of which project may ask by the Data API, by name */
  databases: 'STEPWELL_DATABASES',
  /** environment variables for the code of deployments */
  codeVariables: 'STEPWELL_CODE_VARIABLES',
  /** the role with which the code of deployments asks AWS; empty: it has none */
  codeRoleArn: 'STEPWELL_CODE_ROLE_ARN',
} as const;

export type EnvironmentName = keyof typeof environmentNames;

/** The tag of the first key's secret: its value is the name of the stack that has it. */
export const installationTag = 'stepwell:stack';

/** Attributes of the tables that the template must declare and the adapters write. One spelling for both. */
export const runsTableKeys = {
  partition: 'pk',
  sort: 'sk',
  /** epoch seconds after which the item may vanish */
  expiry: 'ttl',
  byProject: { name: 'byProject', partition: 'gp', sort: 'gs' },
  byState: { name: 'byState', partition: 'sp', sort: 'ss' },
} as const;

export const controlTableKeys = { partition: 'pk', sort: 'sk', expiry: 'ttl' } as const;

/** The functions of the product: each is `functions/<name>/handler.ts` with an export `handler`. */
export const functionNames = [
  'api',
  'events',
  'deployments',
  'library',
  'test-runs',
  'worker',
  'collect',
  'sweep',
  'dead-letter',
  'code',
  'webhooks',
  'sockets',
  'broadcaster',
  'traces',
  'first-key',
] as const;
export type FunctionName = (typeof functionNames)[number];
