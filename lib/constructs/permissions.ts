/** What a function may do: each permission brings the names it needs and the statements that allow it. */
import type * as iam from 'aws-cdk-lib/aws-iam';
import type * as events from 'aws-cdk-lib/aws-events';
import type { EnvironmentName } from '../contract/environment.ts';
import { runsTableKeys } from '../contract/environment.ts';
import { allow, ofPartitions } from './allow.ts';
import { deletionPermissions } from './deletion-permissions.ts';
import type { Queues } from './queues.ts';
import { readSecrets, settingPermissions } from './setting-permissions.ts';
import type { SocketApi } from './socket-api.ts';
import { socketPermissions } from './socket-permissions.ts';
import { type Storage, artifactPrefix, payloadPrefix } from './storage.ts';
import type { Timers } from './timers.ts';

export interface Places {
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
  readonly statements: (places: Places) => readonly iam.PolicyStatement[];
}

export const payloadsArn = (places: Places): string => `${places.bucketArn}/${payloadPrefix}*`;

export const artifactsArn = (places: Places): string => `${places.bucketArn}/${artifactPrefix}*`;

const timerEnvironment = ['delayQueueArn', 'scheduleGroup', 'scheduleRoleArn'] as const;

export const permissions = {
  'read runs': {
    environment: ['runsTable'],
    statements: ({ storage }) => [allow(['dynamodb:GetItem', 'dynamodb:Query'], [storage.runsTable.tableArn])],
  },
  /** No delete: what a run wrote goes by expiry, with a test that is stopped, or with its workflow. */
  'write runs': {
    environment: ['runsTable'],
    statements: ({ storage }) => [allow(['dynamodb:PutItem', 'dynamodb:UpdateItem'], [storage.runsTable.tableArn])],
  },
  'list runs': {
    environment: ['runsTable'],
    statements: ({ storage }) => [
      allow(
        ['dynamodb:Query'],
        [runsTableKeys.byProject, runsTableKeys.byState].map((index) => `${storage.runsTable.tableArn}/index/${index.name}`),
      ),
      allow(['dynamodb:BatchGetItem'], [storage.runsTable.tableArn]),
    ],
  },
  'read control records': {
    environment: ['controlTable'],
    statements: ({ storage }) => [allow(['dynamodb:GetItem'], [storage.controlTable.tableArn])],
  },
  'list control records': {
    environment: ['controlTable'],
    statements: ({ storage }) => [allow(['dynamodb:Query'], [storage.controlTable.tableArn])],
  },
  'write control records': {
    environment: ['controlTable'],
    statements: ({ storage }) => [allow(['dynamodb:PutItem', 'dynamodb:UpdateItem'], [storage.controlTable.tableArn])],
  },
  /** A reservation is given back when nothing was begun under it. */
  'release reservations': {
    environment: ['controlTable'],
    statements: ({ storage }) => [allow(['dynamodb:DeleteItem'], [storage.controlTable.tableArn])],
  },
  /** Which streams of events are open: one partition of leases. */
  'keep stream slots': {
    environment: ['controlTable', 'watchers'],
    statements: ({ storage }) => [
      allow(
        ['dynamodb:Query', 'dynamodb:PutItem', 'dynamodb:DeleteItem'],
        [storage.controlTable.tableArn],
        ofPartitions('~stream-slots'),
      ),
    ],
  },
  /** How far the sweep has come stands beside the control records. */
  'note the sweep': {
    environment: ['controlTable'],
    statements: ({ storage }) => [allow(['dynamodb:UpdateItem'], [storage.controlTable.tableArn])],
  },
  /** Where signals and waits meet: partitions `<project>#<environment>#signal#<digest>`, and whoever moves a run comes by. */
  'meet signals': {
    environment: ['controlTable'],
    statements: ({ storage }) => [
      allow(
        ['dynamodb:GetItem', 'dynamodb:PutItem', 'dynamodb:UpdateItem', 'dynamodb:DeleteItem', 'dynamodb:Query'],
        [storage.controlTable.tableArn],
        ofPartitions('*#signal#*'),
      ),
    ],
  },
  /** Where signals and waits meet, for somebody who brings none together: what is left there is found by whoever may. */
  'announce signals': {
    environment: ['controlTable'],
    statements: ({ storage }) => [
      allow(['dynamodb:PutItem', 'dynamodb:Query'], [storage.controlTable.tableArn], ofPartitions('*#signal#*')),
    ],
  },
  /** Who of a workflow's runs is at work, and who waits: partitions `<project>#<environment>#places#<workflow>`. */
  'keep places': {
    environment: ['controlTable'],
    statements: ({ storage }) => [
      allow(
        ['dynamodb:PutItem', 'dynamodb:DeleteItem', 'dynamodb:Query'],
        [storage.controlTable.tableArn],
        ofPartitions('*#places#*'),
      ),
    ],
  },
  'read payloads': {
    environment: ['bucket'],
    statements: (places) => [
      allow(['s3:GetObject'], [payloadsArn(places)]),
      // Without it S3 answers "forbidden" for an object that does not exist, and nobody can tell the two apart.
      allow(['s3:ListBucket'], [places.bucketArn]),
    ],
  },
  'write payloads': {
    environment: ['bucket'],
    // The tag says when the bucket is to delete it.
    statements: (places) => [allow(['s3:PutObject', 's3:PutObjectTagging'], [payloadsArn(places)])],
  },
  /** Signing an upload hands on this permission, for one object and one digest and a quarter of an hour. */
  'keep artifacts': {
    environment: ['bucket'],
    statements: (places) => [
      allow(['s3:PutObject', 's3:GetObject', 's3:DeleteObject'], [artifactsArn(places)]),
      allow(['s3:ListBucket'], [places.bucketArn]),
    ],
  },
  /** A deployment that is removed goes from the list, and holds on it that nobody needs go too. */
  'let go of deployments': {
    environment: ['controlTable'],
    statements: ({ storage }) => [
      allow(['dynamodb:DeleteItem'], [storage.controlTable.tableArn], ofPartitions('*#deployments', '*#deployment#*')),
    ],
  },
  /** What a deployment is, and nothing else of the control table: partitions `<project>#<environment>#deployments`. */
  'read deployments': {
    environment: ['controlTable'],
    statements: ({ storage }) => [allow(['dynamodb:GetItem'], [storage.controlTable.tableArn], ofPartitions('*#deployments'))],
  },
  /** A run that ends lets go of its deployment: partitions `<project>#<environment>#deployment#<id>`. */
  'end holds on deployments': {
    environment: ['controlTable'],
    statements: ({ storage }) => [
      allow(['dynamodb:DeleteItem'], [storage.controlTable.tableArn], ofPartitions('*#deployment#*')),
    ],
  },
  /** A run that a node calls may be of a deployment's code: partitions `<project>#<environment>#deployment#<id>`. */
  'hold deployments': {
    environment: ['controlTable'],
    statements: ({ storage }) => [allow(['dynamodb:PutItem'], [storage.controlTable.tableArn], ofPartitions('*#deployment#*'))],
  },
  'read artifacts': {
    environment: ['bucket'],
    statements: (places) => [allow(['s3:GetObject'], [artifactsArn(places)]), allow(['s3:ListBucket'], [places.bucketArn])],
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
  'keep schedules': {
    environment: timerEnvironment,
    statements: ({ timers }) => [
      allow(['scheduler:CreateSchedule', 'scheduler:DeleteSchedule'], [timers.schedulesArn]),
      allow(['iam:PassRole'], [timers.role.roleArn], { StringEquals: { 'iam:PassedToService': 'scheduler.amazonaws.com' } }),
    ],
  },
  /** What the sweep looks at to set schedules right: the partition `~schedules`. */
  'settle schedules': {
    environment: ['controlTable'],
    statements: ({ storage }) => [
      allow(
        ['dynamodb:Query', 'dynamodb:PutItem', 'dynamodb:DeleteItem'],
        [storage.controlTable.tableArn],
        ofPartitions('~schedules'),
      ),
    ],
  },
  /** A fire is noted on the record of its schedule, which lies in `<project>#<environment>#schedules`. */
  'note fires': {
    environment: ['controlTable'],
    statements: ({ storage }) => [
      allow(['dynamodb:GetItem', 'dynamodb:UpdateItem'], [storage.controlTable.tableArn], ofPartitions('*#schedules')),
    ],
  },
  /** What a fire's run is begun with, and the mark that an alarm is nobody's any more. */
  'start scheduled runs': {
    environment: ['controlTable'],
    statements: ({ storage }) => [
      allow(
        ['dynamodb:PutItem', 'dynamodb:UpdateItem'],
        [storage.controlTable.tableArn],
        ofPartitions('*#idempotency#*', '*#deployment#*', '~schedules'),
      ),
      allow(['dynamodb:DeleteItem'], [storage.controlTable.tableArn], ofPartitions('*#idempotency#*')),
    ],
  },
  /** Where the first sweep begins is noted before there is a run. */
  'begin the sweep': {
    environment: ['controlTable'],
    statements: ({ storage }) => [
      allow(['dynamodb:GetItem', 'dynamodb:UpdateItem'], [storage.controlTable.tableArn], ofPartitions('~sweep')),
    ],
  },
  'keep the first key': {
    environment: [],
    statements: ({ firstKeySecretArn }) => [
      allow(['secretsmanager:GetSecretValue', 'secretsmanager:PutSecretValue'], [firstKeySecretArn]),
    ],
  },
  'read secrets of seed keys': { environment: [], statements: ({ seedSecretArns }) => readSecrets(seedSecretArns) },
  /** Keys, and the lists of them: partitions `~key#<id>` and `<project>#<environment>#keys`. */
  'register keys': {
    environment: ['controlTable'],
    statements: ({ storage }) => [
      allow(
        ['dynamodb:GetItem', 'dynamodb:PutItem', 'dynamodb:UpdateItem'],
        [storage.controlTable.tableArn],
        ofPartitions('~key#*', '*#keys'),
      ),
    ],
  },
  /** What a webhook may start, and whether it has; no key, and nobody's audit trail. */
  'read what webhooks start': {
    environment: ['controlTable'],
    statements: ({ storage }) => [
      allow(
        ['dynamodb:GetItem'],
        [storage.controlTable.tableArn],
        ofPartitions('*#workflows', '*#workflow#*', '*#deployments', '*#idempotency#*'),
      ),
    ],
  },
  'write what webhooks leave': {
    environment: ['controlTable'],
    statements: ({ storage }) => [
      allow(
        ['dynamodb:PutItem', 'dynamodb:UpdateItem'],
        [storage.controlTable.tableArn],
        ofPartitions('*#idempotency#*', '*#deployment#*', '*#audit#*'),
      ),
      allow(['dynamodb:DeleteItem'], [storage.controlTable.tableArn], ofPartitions('*#idempotency#*')),
    ],
  },
  'tell the bus': {
    environment: ['eventBusName', 'startedEvents'],
    statements: ({ eventBus }) => [allow(['events:PutEvents'], [eventBus.eventBusArn])],
  },
} as const satisfies Record<string, Permission>;

export type PermissionName = keyof typeof permissions;
