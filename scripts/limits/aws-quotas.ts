/** Quotas of AWS that matter to Stepwell, and the pages of AWS that document them. */

const docs = 'https://docs.aws.amazon.com';

export const pages = {
  apiGateway: `${docs}/apigateway/latest/developerguide/limits.html`,
  concurrency: `${docs}/lambda/latest/dg/configuration-concurrency.html`,
  dataApi: `${docs}/AmazonRDS/latest/AuroraUserGuide/data-api.limitations.html`,
  dynamo: `${docs}/amazondynamodb/latest/developerguide/Constraints.html`,
  dynamoOnDemand: `${docs}/amazondynamodb/latest/developerguide/on-demand-capacity-mode.html`,
  dynamoPartitions: `${docs}/amazondynamodb/latest/developerguide/bp-partition-key-design.html`,
  lambda: `${docs}/lambda/latest/dg/gettingstarted-limits.html`,
  lambdaAsync: `${docs}/lambda/latest/dg/invocation-async-error-handling.html`,
  lifecycle: `${docs}/AmazonS3/latest/userguide/intro-lifecycle-rules.html`,
  recursion: `${docs}/lambda/latest/dg/invocation-recursion.html`,
  remapped: `${docs}/apigateway/latest/developerguide/api-gateway-known-issues.html`,
  scheduler: `${docs}/scheduler/latest/UserGuide/scheduler-quotas.html`,
  schedules: `${docs}/scheduler/latest/UserGuide/schedule-types.html`,
  sqs: `${docs}/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-messages.html`,
  sqsFifo: `${docs}/AWSSimpleQueueService/latest/SQSDeveloperGuide/avoid-backlog-with-the-same-message-group-id.html`,
} as const;

interface Quota {
  readonly name: string;
  /** the usual value, as text: it differs between accounts and regions */
  readonly value: string;
  readonly effect: string;
  /** the page of AWS that documents it */
  readonly page: string;
}

export const quotas: readonly Quota[] = [
  {
    name: 'Lambda, concurrent executions',
    value: '1,000 (10 in some new accounts)',
    effect:
      '`nodeConcurrency` counts for two queues. Each stream of events and each run watched over sockets takes one. Above the quota Lambda throttles functions: work waits, and none is lost',
    page: pages.concurrency,
  },
  {
    name: 'Lambda, unreserved concurrency',
    value: 'at least 100, or all of it where the quota is less',
    effect: 'the template reserves none, unless `reservesWatchers` is `true`',
    page: pages.concurrency,
  },
  {
    name: 'Lambda, asynchronous events',
    value: 'throttled: kept for 6 h; failed: retried twice',
    effect: 'EventBridge Scheduler starts the sweep in this way. The template sets 60 s and no retry for it',
    page: pages.lambdaAsync,
  },
  {
    name: 'DynamoDB, writes to one partition',
    value: '1,000 units a second',
    effect: 'limits one run, not the number of runs',
    page: pages.dynamoPartitions,
  },
  {
    name: 'DynamoDB, new on-demand table',
    value: '4,000 writes a second',
    effect: 'AWS doubles it as needed; `warmThroughput` raises it beforehand',
    page: pages.dynamoOnDemand,
  },
  {
    name: 'DynamoDB, item',
    value: '400 KB',
    effect: 'the reason for the limits above on commits, versions and snapshots',
    page: pages.dynamo,
  },
  {
    name: 'SQS, message',
    value: '1 MB',
    effect: 'Stepwell stores larger results before it sends them',
    page: pages.sqs,
  },
  {
    name: 'Lambda, recursive loops',
    value: 'about 16 invocations of a function in one chain of requests',
    effect:
      'the reason why every function that consumes a queue has `RecursiveLoop: Allow`, see [recursive-loops](decisions/recursive-loops.md)',
    page: pages.recursion,
  },
  {
    name: 'SQS, delay',
    value: '15 minutes',
    effect: 'the reason for one-time schedules',
    page: pages.sqs,
  },
  {
    name: 'SQS FIFO, messages looked through',
    value: '120,000',
    effect: 'SQS does not find message groups behind them. A project with more jobs in its slow lane delays the others',
    page: pages.sqsFifo,
  },
  {
    name: 'SQS FIFO, high throughput',
    value: 'thousands of messages a second, by region',
    effect: 'limits the starts of nodes; `nodeQueue: standard` has no such limit',
    page: pages.sqs,
  },
  {
    name: 'Scheduler, schedules',
    value: '10,000,000',
    effect: 'limits the runs that sleep for more than 15 minutes at the same time',
    page: pages.scheduler,
  },
  {
    name: 'Scheduler, precision',
    value: '60 s',
    effect: 'a long sleep may end this much later',
    page: pages.schedules,
  },
  {
    name: 'API Gateway, a socket',
    value: '2 hours, 10 minutes idle, 128 KB a message, 32 KB a frame',
    effect: 'clients reconnect with `after`, see [SOCKETS](SOCKETS.md)',
    page: pages.apiGateway,
  },
  {
    name: 'API Gateway, headers of an answer',
    value: 'some are renamed to `x-amzn-Remapped-…`',
    effect: 'no response has `WWW-Authenticate`, not even a 401',
    page: pages.remapped,
  },
  {
    name: 'API Gateway, time of an answer',
    value: '29 s',
    effect: "the reason for the API's time limit",
    page: pages.apiGateway,
  },
];
