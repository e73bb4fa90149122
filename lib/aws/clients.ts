/** The AWS clients: few attempts, short time limits, keep-alive connections (the SDK's default). */
import { defined } from '../base/defined.ts';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import { LambdaClient } from '@aws-sdk/client-lambda';
import { S3Client } from '@aws-sdk/client-s3';
import { SchedulerClient } from '@aws-sdk/client-scheduler';
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { SQSClient } from '@aws-sdk/client-sqs';
import { STSClient } from '@aws-sdk/client-sts';
import { maxReceiveWaitMs } from '../ports/work-queue.ts';
import { clientRetryConfig, withoutLogging } from './client-config.ts';

export const dynamoClient = (): DynamoDBClient => withoutLogging(new DynamoDBClient(clientRetryConfig(2_000)));
export const queueClient = (): SQSClient => withoutLogging(new SQSClient(clientRetryConfig(5_000)));
/** For long polls, which last up to SQS's maximum wait. */
export const waitingQueueClient = (): SQSClient => new SQSClient(clientRetryConfig(maxReceiveWaitMs + 5_000));
export const schedulerClient = (): SchedulerClient => new SchedulerClient(clientRetryConfig(5_000));
export const eventBusClient = (): EventBridgeClient => new EventBridgeClient(clientRetryConfig(5_000));
export const sessionClient = (): STSClient => new STSClient(clientRetryConfig(5_000));
/** One attempt: a call that had no answer may have been executed. The function ends after 29 s. */
export const functionClient = (): LambdaClient => new LambdaClient({ ...clientRetryConfig(30_000), maxAttempts: 1 });
/** Objects may have several megabytes, so the time limit is longer. */
export const bucketClient = (): S3Client => new S3Client(clientRetryConfig(15_000));
/** @param region absent: the region of the environment */
export const secretsClient = (region?: string): SecretsManagerClient =>
  new SecretsManagerClient(defined({ ...clientRetryConfig(5_000), region }));
