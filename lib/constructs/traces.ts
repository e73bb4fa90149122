/**
 * What sends the traces of ended runs: a rule of the bus puts each end into a queue, and a function takes ten at a time, reads the logs of
 * those runs and sends their spans. A few of these functions run at once at most, so that a collector that hangs takes no concurrency from the
 * work. What could not be sent within an hour is lost.
 */
import { Duration, RemovalPolicy, Validations } from 'aws-cdk-lib';
import * as events from 'aws-cdk-lib/aws-events';
import * as targets from 'aws-cdk-lib/aws-events-targets';
import * as sqs from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import type { TraceSetting } from '../api/schemas/trace-setting.ts';
import { endedRuns } from '../contract/tracing.ts';
import { allow } from './allow.ts';
import { tracesTimeoutSeconds } from './function-shapes.ts';
import type { ProductFunction } from './product-function.ts';

export interface TracesProps {
  readonly sender: ProductFunction;
  readonly eventBus: events.EventBus;
  readonly setting: TraceSetting;
}

/** Functions at once. With ten runs each, that is some hundred runs a second. */
const maxSenders = 5;
const batchSize = 10;

export class Traces extends Construct {
  /** ends of runs whose traces are to be sent */
  readonly queue: sqs.Queue;

  constructor(scope: Construct, id: string, { sender, eventBus, setting }: TracesProps) {
    super(scope, id);
    this.queue = new sqs.Queue(this, 'Ended', {
      // Not the owner's key: EventBridge would have to use it, and a message names a run and holds no data of it.
      encryption: sqs.QueueEncryption.SQS_MANAGED,
      enforceSSL: true,
      retentionPeriod: Duration.hours(1),
      // AWS advises six times the function's time.
      visibilityTimeout: Duration.seconds(6 * tracesTimeoutSeconds),
      removalPolicy: RemovalPolicy.DESTROY,
    });
    Validations.of(this.queue).acknowledge({
      id: 'AwsSolutions-SQS3',
      reason:
        'A trace that could not be sent for an hour is given up: the run log has all of it, and an alarm looks at the age of the messages.',
    });
    new events.Rule(this, 'RunsEnded', {
      description: 'Stepwell: traces of runs that have ended',
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
