/** The queue of a trigger, and the dead-letter queue for messages that can start nothing. */
import { Duration } from 'aws-cdk-lib';
import type * as kms from 'aws-cdk-lib/aws-kms';
import * as sqs from 'aws-cdk-lib/aws-sqs';
import type { Construct } from 'constructs';
import { startsTimeoutSeconds } from './function-shapes.ts';
import { queueProps, retentionDays } from './queues.ts';

/** Six times the timeout of the function, as AWS recommends for event source mappings. */
const visibilitySeconds = 6 * startsTimeoutSeconds;
/** A temporary error lasts at most an hour before its message becomes a dead letter with the reason. */
export const maxReceives = Math.ceil(3_600 / visibilitySeconds);
/** Only messages whose invocations end without an answer reach it: the queue makes them dead letters without a reason. */
const queueReceives = 2 * maxReceives;

/** The queue of a trigger, and its dead-letter queue. */
export interface TriggerQueues {
  readonly queue: sqs.IQueue;
  readonly deadLetters: sqs.IQueue;
}

export interface CreatedQueue {
  readonly fifo: boolean;
  /** undefined: the key of SQS */
  readonly encryptionKey: kms.IKey | undefined;
}

export function createTriggerQueues(scope: Construct, name: string, kind: CreatedQueue): TriggerQueues {
  const shape = queueProps({ ...kind, visibilitySeconds });
  const deadLetters = new sqs.Queue(scope, `${name}DeadLetters`, {
    ...shape,
    retentionPeriod: Duration.days(retentionDays.deadLetters),
  });
  const queue = new sqs.Queue(scope, `${name}Queue`, {
    ...shape,
    retentionPeriod: Duration.days(retentionDays.messages),
    deadLetterQueue: { queue: deadLetters, maxReceiveCount: queueReceives },
  });
  return { queue, deadLetters };
}

/** @throws if Lambda or SQS would refuse the queues, or if messages could be lost */
export function ownersQueues(name: string, queue: sqs.IQueue, given: sqs.IQueue | undefined): TriggerQueues {
  const deadLetters = given ?? (queue instanceof sqs.Queue ? queue.deadLetterQueue?.queue : undefined);
  if (deadLetters === undefined)
    throw new Error(
      `trigger_without_dead_letters: the queue of the trigger ${name} has no dead-letter queue, so a message that can start nothing would be lost or would come back until it expires. Give the queue one (deadLetterQueue of sqs.Queue), or pass deadLetterQueue for a queue that the app imports.`,
    );
  if (deadLetters.fifo !== queue.fifo)
    throw new Error(
      `trigger_dead_letters_differ: the queue of the trigger ${name} and its dead-letter queue must both be FIFO queues, or both standard queues.`,
    );
  const resource = queue.node.defaultChild;
  const visibility = resource instanceof sqs.CfnQueue ? resource.visibilityTimeout : undefined;
  if (visibility !== undefined && visibility < startsTimeoutSeconds)
    throw new Error(
      `trigger_visibility_too_short: the queue of the trigger ${name} hides a message for ${visibility} s, and the function may take ${startsTimeoutSeconds} s, so Lambda refuses the queue. Set its visibilityTimeout to at least ${startsTimeoutSeconds} s; AWS recommends ${visibilitySeconds} s.`,
    );
  return { queue, deadLetters };
}

/** After as many receives, the queue of the app makes a message a dead letter. undefined: unknown */
export const receivesOf = (queue: sqs.IQueue): number | undefined =>
  queue instanceof sqs.Queue ? queue.deadLetterQueue?.maxReceiveCount : undefined;
