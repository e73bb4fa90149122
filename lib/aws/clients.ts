/** How this program talks to each service: few tries, short waits, connections kept open (the SDK's default). */
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import { S3Client } from '@aws-sdk/client-s3';
import { SchedulerClient } from '@aws-sdk/client-scheduler';
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { SQSClient } from '@aws-sdk/client-sqs';
import { STSClient } from '@aws-sdk/client-sts';
import { longestReceiveWaitMs } from '../ports/work-queue.ts';
import { patience } from './patience.ts';
import { unlogged } from './unlogged.ts';

export const dynamoClient = (): DynamoDBClient => unlogged(new DynamoDBClient(patience(2_000)));
export const queueClient = (): SQSClient => unlogged(new SQSClient(patience(5_000)));
/** A receive waits for messages as long as the service lets it. */
export const waitingQueueClient = (): SQSClient => new SQSClient(patience(longestReceiveWaitMs + 5_000));
export const schedulerClient = (): SchedulerClient => new SchedulerClient(patience(5_000));
export const eventBusClient = (): EventBridgeClient => new EventBridgeClient(patience(5_000));
export const sessionClient = (): STSClient => new STSClient(patience(5_000));
/** Objects have megabytes. */
export const bucketClient = (): S3Client => new S3Client(patience(15_000));
/** @param region absent: that of the environment */
export const secretsClient = (region?: string): SecretsManagerClient =>
  new SecretsManagerClient({ ...patience(5_000), ...(region === undefined ? {} : { region }) });
