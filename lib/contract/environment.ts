/** Names that the stacks and the functions share: environment variables, table attributes, functions. */
export const environmentNames = {
  runsTable: 'STEPWELL_RUNS_TABLE',
  controlTable: 'STEPWELL_CONTROL_TABLE',
  bucket: 'STEPWELL_BUCKET',
  nodeQueueUrl: 'STEPWELL_NODE_QUEUE_URL',
  /** maximum concurrent workers of the node queue */
  nodeConcurrency: 'STEPWELL_NODE_CONCURRENCY',
  /** maximum share of these workers for one project, in percent */
  maxProjectShare: 'STEPWELL_MAX_PROJECT_SHARE',
  delayQueueUrl: 'STEPWELL_DELAY_QUEUE_URL',
  resultsQueueUrl: 'STEPWELL_RESULTS_QUEUE_URL',
  /** messages for the code of deployments */
  codeQueueUrl: 'STEPWELL_CODE_QUEUE_URL',
  /** watch messages, which request broadcasters */
  watchQueueUrl: 'STEPWELL_WATCH_QUEUE_URL',
  /** the WebSocket URL for clients */
  socketsUrl: 'STEPWELL_SOCKETS_URL',
  /** the target of one-time schedules */
  delayQueueArn: 'STEPWELL_DELAY_QUEUE_ARN',
  scheduleGroup: 'STEPWELL_SCHEDULE_GROUP',
  /** the role with which schedules send to the delay queue */
  scheduleRoleArn: 'STEPWELL_SCHEDULE_ROLE_ARN',
  eventBusName: 'STEPWELL_EVENT_BUS_NAME',
  /** which status changes of runs are published on the event bus: `none`, `failed`, `ended` or `all` */
  runEvents: 'STEPWELL_RUN_EVENTS',
  /** retention of a run after its deadline, in days */
  retentionDays: 'STEPWELL_RETENTION_DAYS',
  /** retention of idempotency keys, in hours */
  idempotencyHours: 'STEPWELL_IDEMPOTENCY_HOURS',
  /** maximum concurrent event streams; empty: no limit */
  watchers: 'STEPWELL_WATCHERS',
  /** `true`: metrics of runs and nodes are published to CloudWatch */
  metrics: 'STEPWELL_METRICS',
  /** `true`: the API refuses requests that did not provably arrive over HTTPS */
  requireHttps: 'STEPWELL_REQUIRE_HTTPS',
  /** origins that may call the API from a browser (CORS), separated by commas; empty: none */
  corsOrigins: 'STEPWELL_CORS_ORIGINS',
  /** hosts and networks of the owner that nodes and models may call, separated by commas; empty: none */
  privateDestinations: 'STEPWELL_PRIVATE_DESTINATIONS',
  /** JSON: the collector for traces of ended runs. It has the ARN of a secret, not the secret. */
  traces: 'STEPWELL_TRACES',
  // Versions of stored settings, whose texts are items of the control table (lib/contract/stored-settings.ts):
  /** the webhook sources, by name */
  webhooks: 'STEPWELL_WEBHOOKS',
  /** the secrets that the nodes of each project may use, by name */
  secrets: 'STEPWELL_SECRETS',
  /** the models, by name */
  models: 'STEPWELL_MODELS',
  /** the moderation provider */
  moderation: 'STEPWELL_MODERATION',
  /** the databases that the queries of each project may use through the Data API, by name */
  databases: 'STEPWELL_DATABASES',
  /** environment variables for the code of deployments */
  codeVariables: 'STEPWELL_CODE_VARIABLES',
  /** how people sign in to the console */
  console: 'STEPWELL_CONSOLE',
  /** what starts runs from queues, events and buckets */
  triggers: 'STEPWELL_TRIGGERS',
  /** what the console shows of the settings */
  deployed: 'STEPWELL_DEPLOYED',
  /** the function that serves the World, for calls of deployed code about other runs; empty: none */
  worldFunction: 'STEPWELL_WORLD_FUNCTION',
  /** the secret from which the keys of DevKit runs are derived; empty: their values are not encrypted */
  devKitSecretArn: 'STEPWELL_DEVKIT_SECRET_ARN',
  /** `true`: the values of DevKit runs are encrypted, and the function of the World has their keys */
  encryptsRuns: 'STEPWELL_ENCRYPTS_RUNS',
  /** the address of the HTTP API, for the webhooks of apps; empty: unknown */
  apiAddress: 'STEPWELL_API_ADDRESS',
  /** the function that executes nodes, for requests that wait for a run */
  workerFunction: 'STEPWELL_WORKER_FUNCTION',
  /** the function that runs deployed code, for requests for webhooks of apps and requests that wait for a run; empty: none */
  codeFunction: 'STEPWELL_CODE_FUNCTION',
  /** the role with which the code of deployments calls AWS; empty: none */
  codeRoleArn: 'STEPWELL_CODE_ROLE_ARN',
} as const;

export type EnvironmentName = keyof typeof environmentNames;

/** The tag of the first key's secret. Its value is the name of the stack. */
export const installationTag = 'stepwell:stack';

/** Key and index attributes of the tables, declared by the template and written by the adapters. */
export const runsTableKeys = {
  partition: 'pk',
  sort: 'sk',
  /** TTL attribute: epoch seconds after which DynamoDB may delete the item */
  expiry: 'ttl',
  byProject: { name: 'byProject', partition: 'gp', sort: 'gs' },
  byState: { name: 'byState', partition: 'sp', sort: 'ss' },
} as const;

export const controlTableKeys = { partition: 'pk', sort: 'sk', expiry: 'ttl' } as const;

/** The Lambda functions. Each is `functions/<name>/handler.ts` with an export `handler`. */
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
  'starts',
  'world',
  'console',
  'sockets',
  'broadcaster',
  'traces',
  'first-key',
] as const;
export type FunctionName = (typeof functionNames)[number];
