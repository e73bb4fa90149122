/** A work queue in memory, on a virtual clock. */
import { type Hops, noHops } from '../engine/hops.ts';
import { type DurationMs, type Instant, after, seconds } from '../engine/time.ts';
import type { Clock } from '../ports/clock.ts';
import type { ReceivedMessage, ReceiveOptions, WorkQueue } from '../ports/work-queue.ts';

interface QueuedMessage {
  readonly id: string;
  readonly body: string;
  readonly group: string;
  readonly hops: Hops;
  receiveCount: number;
  receiptHandle: string;
  /** in flight until then */
  invisibleUntil: Instant | undefined;
}

const defaultVisibilityTimeout = seconds(960);

export class MemoryWorkQueue implements WorkQueue {
  readonly #clock: Clock;
  #messages: QueuedMessage[] = [];
  #arrival = new AbortController();
  #ids = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** the bodies of all messages, in flight or not */
  get bodies(): readonly string[] {
    return this.#messages.map(({ body }) => body);
  }

  /** the bodies of the messages that a consumer could receive now */
  get visibleBodies(): readonly string[] {
    return this.#receivable().map(({ body }) => body);
  }

  send(group: string, body: string, hops: Hops = noHops): void {
    this.#ids += 1;
    this.#messages.push({
      id: `m${this.#ids}`,
      body,
      group,
      hops,
      receiveCount: 0,
      receiptHandle: '',
      invisibleUntil: undefined,
    });
    this.#wake();
  }

  defaultVisibilityTimeout(): Promise<DurationMs> {
    return Promise.resolve(defaultVisibilityTimeout);
  }

  async receive({ maxMessages, waitTime, visibilityTimeout }: ReceiveOptions): Promise<readonly ReceivedMessage[]> {
    if (this.#receivable().length === 0) await this.#clock.sleep(waitTime, this.#arrival.signal);
    return this.#receivable()
      .slice(0, maxMessages)
      .map((message) => {
        message.receiveCount += 1;
        message.receiptHandle = `${message.id}-${message.receiveCount}`;
        message.invisibleUntil = after(this.#clock.now(), visibilityTimeout);
        const { id, receiptHandle, body, group, receiveCount, hops } = message;
        return { id, receiptHandle, body, group, receiveCount, hops };
      });
  }

  async changeVisibility(
    { receiptHandle }: ReceivedMessage,
    visibilityTimeout: DurationMs,
  ): Promise<'changed' | 'receipt_expired'> {
    const message = this.#messages.find((each) => each.receiptHandle === receiptHandle);
    if (message === undefined || !this.#isInFlight(message)) return 'receipt_expired';
    message.invisibleUntil = after(this.#clock.now(), visibilityTimeout);
    if (visibilityTimeout === 0) this.#wake();
    return 'changed';
  }

  async delete({ receiptHandle }: ReceivedMessage): Promise<void> {
    this.#messages = this.#messages.filter((each) => each.receiptHandle !== receiptHandle || !this.#isInFlight(each));
    this.#wake();
  }

  #isInFlight({ invisibleUntil }: QueuedMessage): boolean {
    return invisibleUntil !== undefined && invisibleUntil > this.#clock.now();
  }

  #receivable(): readonly QueuedMessage[] {
    const locked = new Set(this.#messages.filter((each) => this.#isInFlight(each)).map(({ group }) => group));
    return this.#messages.filter(({ group }) => !locked.has(group));
  }

  #wake(): void {
    this.#arrival.abort();
    this.#arrival = new AbortController();
  }
}
