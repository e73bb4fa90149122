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
  readonly records?: RecordGrants;
  readonly statements?: (places: Places) => readonly iam.PolicyStatement[];
}

/** All that these permissions allow. */
export const statementsOf = (may: readonly PermissionName[], places: Places): readonly iam.PolicyStatement[] => {
  const granted: readonly Permission[] = may.map((permission) => permissions[permission]);
  const others = granted.flatMap(({ statements }) => statements?.(places) ?? []);
  return [
    ...recordStatements(
      granted.map(({ records }) => records),
      places.storage,
    ),
    ...others,
  ];
};

export const payloadsArn = (places: Places): string => `${places.bucketArn}/${payloadPrefix}*`;

/** No project and no environment has a `~` in its name. */
export const codePayloadsArn = (places: Places): string => `${places.bucketArn}/${payloadPrefix}*/~code/*`;

export const artifactsArn = (places: Places): string => `${places.bucketArn}/${artifactPrefix}*`;

const timerEnvironment = ['delayQueueArn', 'scheduleGroup', 'scheduleRoleArn'] as const;

export const permissions = {
  /** Of each run its head; of a graph's all that it wrote, and what the function noted of runs of code that runs them. */
  'read runs': { environment: ['runsTable'], records: { runs: { run: 'gq', code: 'gq' } } },
  /** No delete: what a run wrote goes by expiry, with a test that is stopped, or with its workflow. */
  'write runs': {
    environment: ['runsTable'],
    records: { runs: { run: 'pu', code: 'pu', due: 'p', deaths: 'pq' } },
  },
  /** All that the function may do that runs the code of deployments: no head, and nothing of a graph, is among it. */
  'write runs of code': {
    environment: ['runsTable'],
    records: { runs: { code: 'gqpu', 'due-code': 'p', 'deaths-code': 'pq' } },
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
  'let keys in': {
    environment: ['controlTable'],
    records: { control: { key: 'gn', rate: 'u', audit: 'p' } },
  },
  /** What a run was made from, and what a call is to be made from. */
  'read what runs are made from': {
    environment: ['controlTable'],
    records: { control: { workflows: 'g', workflow: 'g', deployments: 'g' } },
  },
  /** A start remembers its key, and gives it back when nothing was begun under it. */
  'remember starts': { environment: ['controlTable'], records: { control: { idempotency: 'gpd' } } },
  'publish workflows': {
    environment: ['controlTable'],
    records: { control: { workflows: 'gqu', workflow: 'gqp' } },
  },
  /** What is deleted is named by a record; who starts runs of it is looked for. */
  'ask for deletions': {
    environment: ['controlTable'],
    records: { control: { deletions: 'gpud', schedules: 'q' } },
  },
  'give tickets': { environment: ['controlTable'], records: { control: { ticket: 'p' } } },
  'take tickets': { environment: ['controlTable'], records: { control: { ticket: 'gu' } } },
  /** Which stream of a reader goes on, and which streams of events are open: leases. */
  'keep seats': {
    environment: ['controlTable', 'watchers'],
    records: { control: { seat: 'gp', streams: 'qpd' } },
  },
  'keep deployments': {
    environment: ['controlTable'],
    records: { control: { deployments: 'gqpud', hold: 'qd', workflows: 'g' } },
  },
  'keep lenses and queries': {
    environment: ['controlTable'],
    records: { control: { lenses: 'gqu', lens: 'gqp', queries: 'gqu', query: 'gqp' } },
  },
  'read lenses and queries': {
    environment: ['controlTable'],
    records: { control: { lenses: 'g', lens: 'g', queries: 'g', query: 'g' } },
  },
  'keep records of schedules': {
    environment: ['controlTable'],
    records: { control: { schedules: 'gqpud', alarms: 'pd' } },
  },
  /** Keys, and the lists of them. */
  'keep keys': { environment: ['controlTable'], records: { control: { key: 'gpu', keys: 'qp' } } },
  'read the audit trail': { environment: ['controlTable'], records: { control: { audit: 'q' } } },
  /** How far the sweep has come. */
  'note the sweep': { environment: ['controlTable'], records: { control: { sweep: 'gu' } } },
  /** Where signals and waits meet: whoever moves a run comes by. */
  'match signals': { environment: ['controlTable'], records: { control: { signal: 'gqpud' } } },
  /** Who of a workflow's runs is at work, and who waits. */
  'keep places': { environment: ['controlTable'], records: { control: { places: 'qpd' } } },
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
  /** Of runs of code, and of no others: `blobsOf` in `lib/service/payloads.ts` says where they lie. */
  'keep payloads of code': {
    environment: ['bucket'],
    statements: (places) => [
      allow(['s3:GetObject', 's3:PutObject', 's3:PutObjectTagging'], [codePayloadsArn(places)]),
      allow(['s3:ListBucket'], [places.bucketArn]),
    ],
  },
  /** Signing an upload hands on this permission, for one object and one digest and a quarter of an hour. */
  'keep artifacts': {
    environment: ['bucket'],
    statements: (places) => [
      allow(['s3:PutObject', 's3:GetObject', 's3:DeleteObject'], [artifactsArn(places)]),
      allow(['s3:ListBucket'], [places.bucketArn]),
    ],
  },
  /** What a deployment is, and nothing else of the control table. */
  'read deployments': { environment: ['controlTable'], records: { control: { deployments: 'g' } } },
  /** A run that ends lets go of its deployment. */
  'end holds on deployments': { environment: ['controlTable'], records: { control: { hold: 'd' } } },
  /** A run of a deployment's code holds on to it before it begins. */
  'hold deployments': { environment: ['controlTable'], records: { control: { hold: 'p' } } },
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
  /** What the sweep looks at to set schedules right. */
  'settle schedules': { environment: ['controlTable'], records: { control: { schedules: 'g', alarms: 'qpd' } } },
  /** A fire is noted on the record of its schedule. */
  'note fires': { environment: ['controlTable'], records: { control: { schedules: 'gu' } } },
  /** The mark that an alarm is nobody's any more. */
  'mark alarms': { environment: ['controlTable'], records: { control: { alarms: 'p' } } },
  'keep the first key': {
    environment: [],
    statements: ({ firstKeySecretArn }) => [
      allow(['secretsmanager:GetSecretValue', 'secretsmanager:PutSecretValue'], [firstKeySecretArn]),
    ],
  },
  'read secrets of seed keys': { environment: [], statements: ({ seedSecretArns }) => readSecrets(seedSecretArns) },
  /** Who was refused, and what was started. */
  'record failures': { environment: ['controlTable'], records: { control: { audit: 'p' } } },
  'tell the bus': {
    environment: ['eventBusName', 'startedEvents'],
    statements: ({ eventBus }) => [allow(['events:PutEvents'], [eventBus.eventBusArn])],
  },
} as const satisfies Record<string, Permission>;

export type PermissionName = keyof typeof permissions;
