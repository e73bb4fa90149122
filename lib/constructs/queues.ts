/** The queues between the functions, and their two dead-letter queues: one for FIFO queues, one for standard queues. */
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
  /** the worker's timeout; the visibility timeout must exceed it, or two workers could handle a message at once */
  readonly workerTimeoutSeconds: number;
  /** the same for the code function */
  readonly codeTimeoutSeconds: number;
  readonly encryptionKey: kms.IKey | undefined;
}

/** The visibility timeout exceeds the consumer's timeout by this time: a poller can deliver a message late. */
export const visibilityMarginSeconds = 60;
/** Six times the collector's timeout, as AWS recommends for event source mappings. */
const resultsVisibilitySeconds = 60;
/** Above the timeout of the dead-letter function. */
const deadLetterVisibilitySeconds = 90;
/**
 * A message is received at least five times, over at least an hour, before it becomes a dead letter. Throttled deliveries count as
 * receives, and a minute of throttling must not use them up. (docs/decisions/throttled-messages.md)
 */
const minRetrySeconds = 3_600;
export const minReceives = 5;
const maxReceiveCountOf = (visibilitySeconds: number): number =>
  Math.max(minReceives, Math.ceil(minRetrySeconds / visibilitySeconds));

export const retentionDays = { messages: 4, deadLetters: 14 } as const;

export interface QueueShape {
  readonly fifo: boolean;
  readonly visibilitySeconds: number;
  readonly encryptionKey: kms.IKey | undefined;
}

export class Queues extends Construct {
  /** Node jobs without a delay. */
  readonly nodeJobs: sqs.Queue;
  /** Jobs with a delay of at most 15 minutes, and messages of one-time schedules. */
  readonly delayed: sqs.Queue;
  /** Results of wide joins, collected ten at a time. */
  readonly results: sqs.Queue;
  /** Messages for deployed code. Message group: the run for workflows, the message itself for steps. */
  readonly code: sqs.Queue;
  /** Requests for a broadcaster of a watched run. Message group: the run. */
  readonly watches: sqs.Queue;
  /** Dead-letter queues. The queues share them, because each event source mapping uses at least two concurrent executions. */
  readonly deadLetters: readonly sqs.Queue[];

  constructor(scope: Construct, id: string, props: QueuesProps) {
    super(scope, id);
    this.node.addValidation({ validate: () => (isShareUnsupported(props) ? [shareUnsupportedMessage] : []) });
    // A queue and its dead-letter queue must have the same type. The attribute DeadLetterQueueSourceArn names the source queue.
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
    // A standard queue: FIFO queues support no per-message delay, and messages of schedules have no deduplication id.
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
  'maxProjectShare below 100 requires nodeQueue: fifo, because a standard queue has no message groups that could limit a project';

interface DeadLetterQueues {
  readonly standard: sqs.Queue;
  readonly fifo: sqs.Queue;
}

const deadLetterQueue = (scope: Construct, id: string, fifo: boolean, { encryptionKey }: Pick<QueuesProps, 'encryptionKey'>) =>
  new sqs.Queue(scope, id, {
    ...queueProps({ fifo, visibilitySeconds: deadLetterVisibilitySeconds, encryptionKey }),
    // A dead letter of a standard queue keeps its original timestamp, so this retention must exceed the source queue's.
    retentionPeriod: Duration.days(retentionDays.deadLetters),
  });

const workingQueue = (scope: Construct, id: string, deadLetterQueues: DeadLetterQueues, shape: QueueShape): sqs.Queue =>
  new sqs.Queue(scope, id, {
    ...queueProps(shape),
    retentionPeriod: Duration.days(retentionDays.messages),
    deadLetterQueue: {
      queue: shape.fifo ? deadLetterQueues.fifo : deadLetterQueues.standard,
      maxReceiveCount: maxReceiveCountOf(shape.visibilitySeconds),
    },
  });

/** What every queue of the installation has. */
export function queueProps({ fifo, visibilitySeconds, encryptionKey }: QueueShape): sqs.QueueProps {
  return {
    visibilityTimeout: Duration.seconds(visibilitySeconds),
    enforceSSL: true,
    ...(encryptionKey === undefined
      ? { encryption: sqs.QueueEncryption.SQS_MANAGED }
      : { encryption: sqs.QueueEncryption.KMS, encryptionMasterKey: encryptionKey }),
    // High throughput mode: order, deduplication and rate limits apply per message group.
    ...(fifo
      ? {
          fifo: true,
          deduplicationScope: sqs.DeduplicationScope.MESSAGE_GROUP,
          fifoThroughputLimit: sqs.FifoThroughputLimit.PER_MESSAGE_GROUP_ID,
        }
      : {}),
  };
}
