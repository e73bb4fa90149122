/** The queues between the functions, and the two that take what nobody could work on: one for FIFO queues, one for the others. */
import { Duration } from 'aws-cdk-lib';
import type * as kms from 'aws-cdk-lib/aws-kms';
import * as sqs from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { broadcasterTimeoutSeconds } from './function-shapes.ts';

export type NodeQueueKind = 'fifo' | 'standard';

export interface QueuesProps {
  readonly nodeQueue: NodeQueueKind;
  /** in percent */
  readonly maxProjectShare: number;
  /** The worker's time-out: a message must stay invisible for longer, or two workers hold it at once. */
  readonly workerTimeoutSeconds: number;
  /** The same for the function that runs deployments. */
  readonly codeTimeoutSeconds: number;
  readonly encryptionKey: kms.IKey | undefined;
}

/** How much longer than the time-out of whoever works on it a message stays invisible: a poller may hand it over late. */
const visibilityMarginSeconds = 60;
/** Six times the collector's time-out: its batches are retried while the next ones wait. */
const resultsVisibilitySeconds = 60;
/** Above the time-out of the function that consumes the dead letters. */
const deadLetterVisibilitySeconds = 90;
/**
 * A message is given for an hour at least, and five times, before it is a dead letter. Lambda counts a delivery that it throttled too, and
 * a minute's burst at the account's concurrency must not use up all of them. (docs/decisions/throttled-messages.md)
 */
const minRetrySeconds = 3_600;
const minReceives = 5;
const maxReceiveCountOf = (visibilitySeconds: number): number =>
  Math.max(minReceives, Math.ceil(minRetrySeconds / visibilitySeconds));

interface QueueShape {
  readonly fifo: boolean;
  readonly visibilitySeconds: number;
  readonly encryptionKey: kms.IKey | undefined;
}

export class Queues extends Construct {
  /** Node jobs to be run now. */
  readonly nodeJobs: sqs.Queue;
  /** Jobs to be run later, by at most 15 minutes, and what one-time schedules deliver. */
  readonly delayed: sqs.Queue;
  /** Results of wide joins, gathered ten at a time. */
  readonly results: sqs.Queue;
  /** Messages for the code of deployments; group = run for workflows, and the message for steps. */
  readonly code: sqs.Queue;
  /** Who is to speak for watched runs; group = run. */
  readonly watches: sqs.Queue;
  /** What none of these could be worked on: each event source takes two of the account's concurrency, so queues share them. */
  readonly deadLetters: readonly sqs.Queue[];

  constructor(scope: Construct, id: string, props: QueuesProps) {
    super(scope, id);
    this.node.addValidation({ validate: () => (isShareUnsupported(props) ? [shareUnsupportedMessage] : []) });
    // SQS takes only a dead-letter queue of the same kind. A letter says by DeadLetterQueueSourceArn where it comes from.
    const deadLetterQueues: DeadLetterQueues = {
      standard: deadLetterQueue(this, 'StandardDeadLetters', false, props),
      fifo: deadLetterQueue(this, 'FifoDeadLetters', true, props),
    };
    this.deadLetters = [deadLetterQueues.standard, deadLetterQueues.fifo];
    const workerQueueShape = {
      visibilitySeconds: props.workerTimeoutSeconds + visibilityMarginSeconds,
      encryptionKey: props.encryptionKey,
    };
    this.nodeJobs = workingQueue(this, 'NodeQueue', deadLetterQueues, { ...workerQueueShape, fifo: props.nodeQueue === 'fifo' });
    // Standard: a FIFO queue refuses a delay per message, and a schedule's message brings no deduplication id.
    this.delayed = workingQueue(this, 'DelayQueue', deadLetterQueues, { ...workerQueueShape, fifo: false });
    this.results = workingQueue(this, 'ResultsQueue', deadLetterQueues, {
      ...workerQueueShape,
      visibilitySeconds: resultsVisibilitySeconds,
      fifo: true,
    });
    this.code = workingQueue(this, 'CodeQueue', deadLetterQueues, {
      ...workerQueueShape,
      visibilitySeconds: props.codeTimeoutSeconds + visibilityMarginSeconds,
      fifo: true,
    });
    this.watches = workingQueue(this, 'WatchQueue', deadLetterQueues, {
      ...workerQueueShape,
      visibilitySeconds: broadcasterTimeoutSeconds + visibilityMarginSeconds,
      fifo: true,
    });
  }

  get all(): readonly sqs.Queue[] {
    return [this.nodeJobs, this.delayed, this.results, this.code, this.watches];
  }
}

const isShareUnsupported = ({ nodeQueue, maxProjectShare }: QueuesProps): boolean =>
  nodeQueue === 'standard' && maxProjectShare < 100;
const shareUnsupportedMessage =
  'maxProjectShare below 100 needs nodeQueue: fifo, because a standard queue has no message groups to bound a project by';

interface DeadLetterQueues {
  readonly standard: sqs.Queue;
  readonly fifo: sqs.Queue;
}

const deadLetterQueue = (scope: Construct, id: string, fifo: boolean, { encryptionKey }: Pick<QueuesProps, 'encryptionKey'>) =>
  new sqs.Queue(scope, id, {
    ...queueProps({ fifo, visibilitySeconds: deadLetterVisibilitySeconds, encryptionKey }),
    // A standard queue's dead letter keeps the age it had: this must be longer than the retention of the queue it came from.
    retentionPeriod: Duration.days(14),
  });

const workingQueue = (scope: Construct, id: string, deadLetterQueues: DeadLetterQueues, shape: QueueShape): sqs.Queue =>
  new sqs.Queue(scope, id, {
    ...queueProps(shape),
    retentionPeriod: Duration.days(4),
    deadLetterQueue: {
      queue: shape.fifo ? deadLetterQueues.fifo : deadLetterQueues.standard,
      maxReceiveCount: maxReceiveCountOf(shape.visibilitySeconds),
    },
  });

function queueProps({ fifo, visibilitySeconds, encryptionKey }: QueueShape): sqs.QueueProps {
  return {
    visibilityTimeout: Duration.seconds(visibilitySeconds),
    enforceSSL: true,
    ...(encryptionKey === undefined
      ? { encryption: sqs.QueueEncryption.SQS_MANAGED }
      : { encryption: sqs.QueueEncryption.KMS, encryptionMasterKey: encryptionKey }),
    // High throughput: order, deduplication and rate are counted per message group, and groups do not hinder each other.
    ...(fifo
      ? {
          fifo: true,
          deduplicationScope: sqs.DeduplicationScope.MESSAGE_GROUP,
          fifoThroughputLimit: sqs.FifoThroughputLimit.PER_MESSAGE_GROUP_ID,
        }
      : {}),
  };
}
