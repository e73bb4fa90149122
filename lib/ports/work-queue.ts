/**
 * A queue of work as a process of one's own takes it: messages in groups, of which one at a time is in somebody's hands, and
 * which come back where whoever has one says nothing more.
 */
import type { Hops } from '../engine/hops.ts';
import type { DurationMs } from '../engine/time.ts';

export interface ReceivedMessage {
  /** the same for every delivery of it */
  readonly id: string;
  /** of this delivery */
  readonly receiptHandle: string;
  readonly body: string;
  readonly group: string;
  /** how often it was given to somebody, this time included */
  readonly receiveCount: number;
  /** that led to it */
  readonly hops: Hops;
}

export interface ReceiveOptions {
  /** 1 to `maxMessagesPerReceive` */
  readonly maxMessages: number;
  /** how long to wait for the first one, at most `maxReceiveWaitMs` */
  readonly waitTime: DurationMs;
  /** for how long nobody else gets them, in whole seconds */
  readonly visibilityTimeout: DurationMs;
}

/** Each throws `Unavailable` for trouble that passes, and what the service says where the queue or the caller is wrong. */
export interface WorkQueue {
  /** @returns how long a message stays away that nobody speaks of any more: the queue's own time */
  defaultVisibilityTimeout(): Promise<DurationMs>;
  /** Cannot be broken off: a queue may go on and give a message to whoever has left. */
  receive(options: ReceiveOptions): Promise<readonly ReceivedMessage[]>;
  /** For so long from now, in whole seconds, nobody gets it; 0: at once. `gone`: it is not in these hands any more. */
  changeVisibility(message: ReceivedMessage, visibilityTimeout: DurationMs): Promise<'changed' | 'receipt_expired'>;
  /** It is done, and never comes back. What is not there any more is done too. */
  delete(message: ReceivedMessage): Promise<void>;
}

/** What SQS gives at once, and waits. */
export const maxMessagesPerReceive = 10;
export const maxReceiveWaitMs = 20_000;
