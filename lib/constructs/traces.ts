/**
 * Exports the traces of ended runs. An EventBridge rule sends each end to a queue. A function receives ten at a time, reads the run logs
 * and sends the spans. Its concurrency is low, so that a slow collector does not take concurrency from runs. Traces that cannot be sent
 * within an hour are dropped.
 */
import { Duration, RemovalPolicy, Validations } from 'aws-cdk-lib';
import * as events from 'aws-cdk-lib/aws-events';
import * as targets from 'aws-cdk-lib/aws-events-targets';
import * as sqs from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import type { TraceSetting } from '../api/schemas/trace-setting.ts';
import { endedRuns } from '../contract/tracing.ts';
import { allow } from './statements.ts';
import { tracesTimeoutSeconds } from './function-shapes.ts';
import type { ProductFunction } from './product-function.ts';

export interface TracesProps {
  readonly sender: ProductFunction;
  readonly eventBus: events.EventBus;
  readonly setting: TraceSetting;
}

/** Maximum concurrency. With ten runs per invocation, about a hundred runs a second. */
export const maxSenders = 5;
const batchSize = 10;
/** How long an ended run waits for its trace. */
export const maxTraceHours = 1;

export class Traces extends Construct {
  /** queue of ended runs */
  readonly queue: sqs.Queue;

  constructor(scope: Construct, id: string, { sender, eventBus, setting }: TracesProps) {
    super(scope, id);
    this.queue = new sqs.Queue(this, 'Ended', {
      // Not the customer's KMS key: EventBridge would need access to it, and the messages contain only run ids.
      encryption: sqs.QueueEncryption.SQS_MANAGED,
      enforceSSL: true,
      retentionPeriod: Duration.hours(maxTraceHours),
      // AWS recommends six times the function's timeout.
      visibilityTimeout: Duration.seconds(6 * tracesTimeoutSeconds),
      removalPolicy: RemovalPolicy.DESTROY,
    });
    Validations.of(this.queue).acknowledge({
      id: 'AwsSolutions-SQS3',
      reason:
        'A trace that cannot be sent for an hour is dropped. The run log contains the same data, and an alarm covers the age of the messages.',
    });
    new events.Rule(this, 'RunsEnded', {
      description: 'Stepwell: ended runs whose traces are exported',
      eventBus,
      eventPattern: {
        source: [endedRuns.source],
        detailType: [endedRuns.detailType],
        detail: { status: [...endedRuns.statuses] },
      },
      targets: [new targets.SqsQueue(this.queue)],
    });
    sender.consume('Ended', this.queue, { batchSize: batchSize, maxConcurrency: maxSenders });
    if (setting.header !== undefined)
      sender.role.addToPolicy(allow(['secretsmanager:GetSecretValue'], [setting.header.secretArn]));
  }
}
