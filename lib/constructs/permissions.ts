/** What a function may do: each permission brings the names it needs and the statements that allow it. */
import * as iam from 'aws-cdk-lib/aws-iam';
import type * as events from 'aws-cdk-lib/aws-events';
import type { EnvironmentName } from '../contract/environment.ts';
import { runsTableKeys } from '../contract/environment.ts';
import type { Queues } from './queues.ts';
import { type Storage, payloadPrefix } from './storage.ts';
import type { Timers } from './timers.ts';

export interface Places {
  readonly storage: Storage;
  readonly queues: Queues;
  readonly timers: Timers;
  readonly eventBus: events.EventBus;
  /** the bucket's ARN as the functions' stack sees it */
  readonly bucketArn: string;
}

export interface Permission {
  readonly environment: readonly EnvironmentName[];
  readonly statements: (places: Places) => readonly iam.PolicyStatement[];
}

const allow = (actions: readonly string[], resources: readonly string[], conditions: Record<string, unknown> = {}) =>
  new iam.PolicyStatement({ actions: [...actions], resources: [...resources], conditions });

export const payloadsArn = (places: Places): string => `${places.bucketArn}/${payloadPrefix}*`;

const timerEnvironment = ['delayQueueArn', 'scheduleGroup', 'scheduleRoleArn'] as const;

export const permissions = {
  'read runs': {
    environment: ['runsTable'],
    statements: ({ storage }) => [allow(['dynamodb:GetItem', 'dynamodb:Query'], [storage.runsTable.tableArn])],
  },
  /** No delete: what a run wrote goes by expiry alone. */
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
  /** How far the sweep has come stands beside the control records. */
  'note the sweep': {
    environment: ['controlTable'],
    statements: ({ storage }) => [allow(['dynamodb:UpdateItem'], [storage.controlTable.tableArn])],
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
    statements: (places) => [allow(['s3:PutObject'], [payloadsArn(places)])],
  },
  'send node jobs': {
    environment: ['nodeQueueUrl'],
    statements: ({ queues }) => [allow(['sqs:SendMessage'], [queues.nodeJobs.queueArn])],
  },
  'send delayed jobs': {
    environment: ['delayQueueUrl'],
    statements: ({ queues }) => [allow(['sqs:SendMessage'], [queues.delayed.queueArn])],
  },
  'send results': {
    environment: ['resultsQueueUrl'],
    statements: ({ queues }) => [allow(['sqs:SendMessage'], [queues.results.queueArn])],
  },
  'set timers': {
    environment: timerEnvironment,
    statements: ({ timers }) => [
      // No delete: a schedule deletes itself, and one that fires for nothing changes nothing.
      allow(['scheduler:CreateSchedule'], [timers.schedulesArn]),
      allow(['iam:PassRole'], [timers.role.roleArn], { StringEquals: { 'iam:PassedToService': 'scheduler.amazonaws.com' } }),
    ],
  },
  'tell the bus': {
    environment: ['eventBusName'],
    statements: ({ eventBus }) => [allow(['events:PutEvents'], [eventBus.eventBusArn])],
  },
} as const satisfies Record<string, Permission>;

export type PermissionName = keyof typeof permissions;
