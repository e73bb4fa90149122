/**
 * A FIFO queue as a polling consumer sees it. One message of each group is in flight at a time; it is redelivered when its
 * visibility timeout ends.
 */
import type { Hops } from '../engine/hops.ts';
import type { DurationMs } from '../engine/time.ts';

export interface ReceivedMessage {
  /** the same in every delivery */
  readonly id: string;
  /** identifies this delivery */
  readonly receiptHandle: string;
  readonly body: string;
  readonly group: string;
  /** the number of deliveries, with this one */
  readonly receiveCount: number;
  /** the hops that led to the message */
  readonly hops: Hops;
}

export interface ReceiveOptions {
  /** 1 to `maxMessagesPerReceive` */
  readonly maxMessages: number;
  /** how long to wait for the first message, at most `maxReceiveWaitMs` */
  readonly waitTime: DurationMs;
  /** in whole seconds */
  readonly visibilityTimeout: DurationMs;
}

/** Each method throws `Unavailable` for temporary errors, and the service's error if the queue or the caller is wrong. */
export interface WorkQueue {
  /** The visibility timeout that the queue is configured with. */
  defaultVisibilityTimeout(): Promise<DurationMs>;
  /** Cannot be aborted: the queue could deliver a message to a consumer that no longer waits. */
  receive(options: ReceiveOptions): Promise<readonly ReceivedMessage[]>;
  /** Sets the visibility timeout from now on, in whole seconds; 0: visible at once. `receipt_expired`: no longer in flight here. */
  changeVisibility(message: ReceivedMessage, visibilityTimeout: DurationMs): Promise<'changed' | 'receipt_expired'>;
  /** Deletes the message. Succeeds also if the receipt has expired. */
  delete(message: ReceivedMessage): Promise<void>;
}

/** SQS's limits of a receive request. */
export const maxMessagesPerReceive = 10;
export const maxReceiveWaitMs = 20_000;
