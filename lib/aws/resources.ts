/** The tables, the bucket and the clients of an installation, each created at its first use. */
import type { S3Client } from '@aws-sdk/client-s3';
import type { SchedulerClient } from '@aws-sdk/client-scheduler';
import type { SQSClient } from '@aws-sdk/client-sqs';
import { lazyProperties, once } from '../base/lazy.ts';
import { bucketClient, dynamoClient, queueClient, schedulerClient } from './clients.ts';
import type { Settings } from './environment.ts';
import { SystemClock, SystemIds } from './system.ts';
import { Table } from './table.ts';

export interface Resources {
  readonly settings: Settings;
  readonly clock: SystemClock;
  readonly ids: SystemIds;
  readonly runs: Table;
  readonly control: Table;
  readonly objects: S3Client;
  readonly queues: SQSClient;
  readonly scheduler: SchedulerClient;
}

export const resourcesOf = (settings: Settings): Resources => {
  const dynamo = once(dynamoClient);
  return lazyProperties<Resources>({
    settings: () => settings,
    clock: () => new SystemClock(),
    ids: () => new SystemIds(),
    runs: () => new Table(dynamo(), settings.runsTable),
    control: () => new Table(dynamo(), settings.controlTable),
    objects: bucketClient,
    queues: queueClient,
    scheduler: schedulerClient,
  });
};
