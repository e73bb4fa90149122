/** What a function may do: each permission brings the names it needs and the statements that allow it. */
import type * as iam from 'aws-cdk-lib/aws-iam';
import type * as events from 'aws-cdk-lib/aws-events';
import type { EnvironmentName } from '../contract/environment.ts';
import { runsTableKeys } from '../contract/environment.ts';
import { allow } from './allow.ts';
import { deletionPermissions } from './deletion-permissions.ts';
import { type RecordGrants, recordStatements } from './record-grants.ts';
import type { Queues } from './queues.ts';
import { readSecrets, settingPermissions } from './setting-permissions.ts';
import type { SocketApi } from './socket-api.ts';
import { socketPermissions } from './socket-permissions.ts';
import { type Storage, artifactPrefix, payloadPrefix } from './storage.ts';
import type { Timers } from './timers.ts';

export interface ProductResources {
  readonly storage: Storage;
  readonly queues: Queues;
  readonly timers: Timers;
  readonly eventBus: events.EventBus;
  /** undefined: nobody answers sockets, so there are none */
  readonly sockets: Pick<SocketApi, 'url' | 'connectionArns'> | undefined;
  /** the bucket's ARN as the functions' stack sees it */
  readonly bucketArn: string;
  /** the ARN of the first key's secret, as the functions' stack sees it */
  readonly firstKeySecretArn: string;
  /** secrets of the configuration, by their whole ARNs */
  readonly seedSecretArns: readonly string[];
  readonly webhookSecretArns: readonly string[];
  readonly nodeSecretArns: readonly string[];
  /** of model providers and of moderation */
  readonly modelSecretArns: readonly string[];
  readonly modelArns: readonly string[];
  /** undefined: no guardrail moderates */
  readonly guardrailArn: string | undefined;
  /** what queries may ask by the Data API */
  readonly clusterArns: readonly string[];
  readonly databaseSecretArns: readonly string[];
}

export interface Permission {
  readonly environment: readonly EnvironmentName[];
  readonly records?: RecordGrants;
  readonly statements?: (resources: ProductResources) => readonly iam.PolicyStatement[];
}

/** All that these permissions allow. */
export const statementsOf = (
  permissionNames: readonly PermissionName[],
  resources: ProductResources,
): readonly iam.PolicyStatement[] => {
  const granted: readonly Permission[] = permissionNames.map((permission) => permissions[permission]);
  const otherStatements = granted.flatMap(({ statements }) => statements?.(resources) ?? []);
  return [
    ...recordStatements(
      granted.map(({ records }) => records),
      resources.storage,
    ),
    ...otherStatements,
  ];
};

export const payloadsArn = (resources: ProductResources): string => `${resources.bucketArn}/${payloadPrefix}*`;

/** No project and no environment has a `~` in its name. */
export const codePayloadsArn = (resources: ProductResources): string => `${resources.bucketArn}/${payloadPrefix}*/~code/*`;

export const artifactsArn = (resources: ProductResources): string => `${resources.bucketArn}/${artifactPrefix}*`;

const timerEnvironment = ['delayQueueArn', 'scheduleGroup', 'scheduleRoleArn'] as const;

export const permissions = {
  /** Of each run its head; of a graph's all that it wrote, and what the function noted of runs of code that runs them. */
  'read runs': { environment: ['runsTable'], records: { runs: { run: 'gq', code: 'gq' } } },
  /** No delete: what a run wrote goes by expiry, with a test that is stopped, or with its workflow. */
  'write runs': {
    environment: ['runsTable'],
    records: { runs: { run: 'pu', code: 'pu', due: 'p', crashes: 'pq' } },
  },
  /** All that the function may do that runs the code of deployments: no head, and nothing of a graph, is among it. */
  'write runs of code': {
    environment: ['runsTable'],
    records: { runs: { code: 'gqpu', 'due-code': 'p', 'crashes-code': 'pq' } },
  },
  'list runs': {
    environment: ['runsTable'],
    records: { runs: { run: 'b', code: 'b' } },
    statements: ({ storage }) => [
      allow(
        ['dynamodb:Query'],
        [runsTableKeys.byProject, runsTableKeys.byState].map((index) => `${storage.runsTable.tableArn}/index/${index.name}`),
      ),
    ],
  },
  /** Which run is due is noted by whoever moves it; the sweep finds it. */
  'find due runs': { environment: ['runsTable'], records: { runs: { due: 'q', 'due-code': 'q' } } },
  /** A key is read and its use noted, requests are counted, and what was asked goes into the trail. */
  'authenticate keys': {
    environment: ['controlTable'],
    records: { control: { key: 'gn', rate: 'u', audit: 'p' } },
  },
  /** What a run was made from, and what a call is to be made from. */
  'read run definitions': {
    environment: ['controlTable'],
    records: { control: { workflows: 'g', workflow: 'g', deployments: 'g' } },
  },
  /** A start remembers its key, and gives it back when nothing was begun under it. */
  'record idempotency keys': { environment: ['controlTable'], records: { control: { idempotency: 'gpd' } } },
  'publish workflows': {
    environment: ['controlTable'],
    records: { control: { workflows: 'gqu', workflow: 'gqp' } },
  },
  /** What is deleted is named by a record; who starts runs of it is looked for. */
  'request deletions': {
    environment: ['controlTable'],
    records: { control: { deletions: 'gpud', schedules: 'q' } },
  },
  'issue tickets': { environment: ['controlTable'], records: { control: { ticket: 'p' } } },
  'redeem tickets': { environment: ['controlTable'], records: { control: { ticket: 'gu' } } },
  /** Which stream of a reader goes on, and which streams of events are open: leases. */
  'manage reader leases': {
    environment: ['controlTable', 'watchers'],
    records: { control: { 'reader-lease': 'gp', streams: 'qpd' } },
  },
  'manage deployments': {
    environment: ['controlTable'],
    records: { control: { deployments: 'gqpud', pin: 'qd', workflows: 'g' } },
  },
  'manage lenses and queries': {
    environment: ['controlTable'],
    records: { control: { lenses: 'gqu', lens: 'gqp', queries: 'gqu', query: 'gqp' } },
  },
  'read lenses and queries': {
    environment: ['controlTable'],
    records: { control: { lenses: 'g', lens: 'g', queries: 'g', query: 'g' } },
  },
  'manage schedule records': {
    environment: ['controlTable'],
    records: { control: { schedules: 'gqpud', 'schedule-sync': 'pd' } },
  },
  /** Keys, and the lists of them. */
  'manage keys': { environment: ['controlTable'], records: { control: { key: 'gpu', keys: 'qp' } } },
  'read the audit trail': { environment: ['controlTable'], records: { control: { audit: 'q' } } },
  /** How far the sweep has come. */
  'record sweep progress': { environment: ['controlTable'], records: { control: { sweep: 'gu' } } },
  /** Where signals and waits meet: whoever moves a run comes by. */
  'match signals': { environment: ['controlTable'], records: { control: { signal: 'gqpud' } } },
  /** Who of a workflow's runs is at work, and who waits. */
  'manage concurrency slots': { environment: ['controlTable'], records: { control: { slots: 'qpd' } } },
  'read payloads': {
    environment: ['bucket'],
    statements: (resources) => [
      allow(['s3:GetObject'], [payloadsArn(resources)]),
      // Without it S3 answers "forbidden" for an object that does not exist, and nobody can tell the two apart.
      allow(['s3:ListBucket'], [resources.bucketArn]),
    ],
  },
  'write payloads': {
    environment: ['bucket'],
    // The tag says when the bucket is to delete it.
    statements: (resources) => [allow(['s3:PutObject', 's3:PutObjectTagging'], [payloadsArn(resources)])],
  },
  /** Of runs of code, and of no others: `blobPrefixOf` in `lib/service/run-log/payloads.ts` says where they lie. */
  'store payloads of code': {
    environment: ['bucket'],
    statements: (resources) => [
      allow(['s3:GetObject', 's3:PutObject', 's3:PutObjectTagging'], [codePayloadsArn(resources)]),
      allow(['s3:ListBucket'], [resources.bucketArn]),
    ],
  },
  /** Signing an upload hands on this permission, for one object and one digest and a quarter of an hour. */
  'store artifacts': {
    environment: ['bucket'],
    statements: (resources) => [
      allow(['s3:PutObject', 's3:GetObject', 's3:DeleteObject'], [artifactsArn(resources)]),
      allow(['s3:ListBucket'], [resources.bucketArn]),
    ],
  },
  /** What a deployment is, and nothing else of the control table. */
  'read deployments': { environment: ['controlTable'], records: { control: { deployments: 'g' } } },
  /** A run that ends lets go of its deployment. */
  'unpin deployments': { environment: ['controlTable'], records: { control: { pin: 'd' } } },
  /** A run of a deployment's code holds on to it before it begins. */
  'pin deployments': { environment: ['controlTable'], records: { control: { pin: 'p' } } },
  'read artifacts': {
    environment: ['bucket'],
    statements: (resources) => [
      allow(['s3:GetObject'], [artifactsArn(resources)]),
      allow(['s3:ListBucket'], [resources.bucketArn]),
    ],
  },
  'send node jobs': {
    environment: ['nodeQueueUrl', 'nodeConcurrency', 'maxProjectShare'],
    statements: ({ queues }) => [allow(['sqs:SendMessage'], [queues.nodeJobs.queueArn])],
  },
  'send delayed jobs': {
    environment: ['delayQueueUrl'],
    statements: ({ queues }) => [allow(['sqs:SendMessage'], [queues.delayed.queueArn])],
  },
  'send code messages': {
    environment: ['codeQueueUrl'],
    statements: ({ queues }) => [allow(['sqs:SendMessage'], [queues.code.queueArn])],
  },
  /** For a process of the owner's own: a function's event source takes, holds and deletes for it. */
  'take code messages': {
    environment: ['codeQueueUrl'],
    statements: ({ queues }) => [
      allow(
        ['sqs:ReceiveMessage', 'sqs:ChangeMessageVisibility', 'sqs:DeleteMessage', 'sqs:GetQueueAttributes'],
        [queues.code.queueArn],
      ),
    ],
  },
  'send results': {
    environment: ['resultsQueueUrl'],
    statements: ({ queues }) => [allow(['sqs:SendMessage'], [queues.results.queueArn])],
  },
  ...socketPermissions,
  ...deletionPermissions,
  ...settingPermissions,
  'set timers': {
    environment: timerEnvironment,
    statements: ({ timers }) => [
      // No delete: a schedule deletes itself, and one that fires for nothing changes nothing.
      allow(['scheduler:CreateSchedule'], [timers.schedulesArn]),
      allow(['iam:PassRole'], [timers.role.roleArn], { StringEquals: { 'iam:PassedToService': 'scheduler.amazonaws.com' } }),
    ],
  },
  /** Schedules of workflows: made, and taken away again when nobody wants them. */
  'manage schedules': {
    environment: timerEnvironment,
    statements: ({ timers }) => [
      allow(['scheduler:CreateSchedule', 'scheduler:DeleteSchedule'], [timers.schedulesArn]),
      allow(['iam:PassRole'], [timers.role.roleArn], { StringEquals: { 'iam:PassedToService': 'scheduler.amazonaws.com' } }),
    ],
  },
  /** What the sweep looks at to set schedules right. */
  'sync schedules': { environment: ['controlTable'], records: { control: { schedules: 'g', 'schedule-sync': 'qpd' } } },
  /** A fire is noted on the record of its schedule. */
  'record schedule fires': { environment: ['controlTable'], records: { control: { schedules: 'gu' } } },
  /** The mark that an alarm is nobody's any more. */
  'mark schedules for sync': { environment: ['controlTable'], records: { control: { 'schedule-sync': 'p' } } },
  'store the first key': {
    environment: [],
    statements: ({ firstKeySecretArn }) => [
      allow(['secretsmanager:GetSecretValue', 'secretsmanager:PutSecretValue'], [firstKeySecretArn]),
    ],
  },
  'read secrets of seed keys': { environment: [], statements: ({ seedSecretArns }) => readSecrets(seedSecretArns) },
  /** Who was refused, and what was started. */
  'record audit entries': { environment: ['controlTable'], records: { control: { audit: 'p' } } },
  'publish events': {
    environment: ['eventBusName', 'startedEvents'],
    statements: ({ eventBus }) => [allow(['events:PutEvents'], [eventBus.eventBusArn])],
  },
} as const satisfies Record<string, Permission>;

export type PermissionName = keyof typeof permissions;
