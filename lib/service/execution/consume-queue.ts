/**
 * Consumes a queue in a long-running process: up to `concurrency` messages at once, one per message group, and extends the visibility
 * timeout of each message while it is processed. It does what an event source mapping does for a Lambda function: receive, invoke,
 * delete, and release for redelivery.
 */
import { backoffMs } from '../../base/retry.ts';
import type { Hops } from '../../engine/hops.ts';
import { type DurationMs, type Instant, after, between, durationMs, seconds } from '../../engine/time.ts';
import type { Clock } from '../../ports/clock.ts';
import { Unavailable } from '../../ports/unavailable.ts';
import { type ReceivedMessage, type WorkQueue, maxMessagesPerReceive } from '../../ports/work-queue.ts';

export interface ConsumerOptions {
  readonly queue: WorkQueue;
  readonly clock: Clock;
  /** maximum number of messages in flight in this process */
  readonly concurrency: number;
  /** time after this process's last extension until the queue redelivers a message */
  readonly visibilityTimeout: DurationMs;
  /** time that messages in flight have to finish after a stop; at least a second */
  readonly drain: DurationMs;
  /** Processes a message. After `Unavailable` the consumer waits and retries; after any other error the message is redelivered. */
  readonly handle: (
    body: string,
    how: { readonly isRedelivered: boolean; readonly drainSignal: AbortSignal; readonly hops: Hops },
  ) => Promise<void>;
  readonly report: (event: ConsumerEvent) => void;
}

export type ConsumerEvent =
  /** the queue exists, and this process may receive from it */
  | { readonly kind: 'started' }
  /** a dependency is unavailable, and the consumer retries after the delay; without a message, it is the queue */
  | {
      readonly kind: 'backing_off';
      readonly error: Unavailable;
      readonly delayMs: DurationMs;
      /** consecutive failures, including this one */
      readonly failures: number;
      readonly message?: ReceivedMessage;
    }
  | { readonly kind: 'will_be_redelivered'; readonly error: unknown; readonly message: ReceivedMessage }
  /** another consumer may process the message too; the log tolerates duplicates */
  | { readonly kind: 'receipt_expired'; readonly message: ReceivedMessage }
  | { readonly kind: 'draining'; readonly atWork: number; readonly drainMs: DurationMs }
  /** the message was still in flight at the end of the drain; it is released to other consumers */
  | { readonly kind: 'abandoned'; readonly message: ReceivedMessage };

export interface ConsumerResult {
  readonly handled: number;
  /** messages still in flight at the end of the drain */
  readonly abandoned: number;
}

interface InFlight {
  message: ReceivedMessage;
  /** aborts when this process stops extending the message's visibility timeout */
  readonly settled: AbortController;
}

/** @param tries failures before this one */
const delayAfter = (tries: number): DurationMs => durationMs(backoffMs({ baseMs: 1_000, maxMs: 30_000 }, tries + 1));
/** Long-poll time. A stop waits for the current receive, so it is short; a longer one would save only a few cents a month. */
const receiveWait = seconds(5);
/** Extensions per visibility timeout, so that two may be missed. */
const heartbeatsPerTimeout = 3;

/** Runs until the signal aborts. @throws an error of the queue other than `Unavailable`, after the messages in flight have drained */
export async function consumeQueue(options: ConsumerOptions, stop: AbortSignal): Promise<ConsumerResult> {
  const fatal = new AbortController();
  const inFlightMessages = new InFlightMessages(
    options,
    await options.queue.defaultVisibilityTimeout(),
    AbortSignal.any([stop, fatal.signal]),
  );
  options.report({ kind: 'started' });
  try {
    await receiveInto(inFlightMessages, options, stop);
  } finally {
    fatal.abort();
    await inFlightMessages.drainAll();
  }
  return inFlightMessages.result;
}

async function receiveInto(
  inFlightMessages: InFlightMessages,
  { queue, clock, concurrency, visibilityTimeout, drain, report }: ConsumerOptions,
  stop: AbortSignal,
) {
  const waitTime = durationMs(Math.min(receiveWait, drain));
  for (let tries = 0; !stop.aborted;) {
    const free = concurrency - inFlightMessages.count;
    if (free <= 0) {
      await inFlightMessages.waitForChange(stop);
      continue;
    }
    try {
      const messages = await queue.receive({ maxMessages: Math.min(free, maxMessagesPerReceive), waitTime, visibilityTimeout });
      tries = 0;
      await Promise.all(messages.map((message) => inFlightMessages.accept(message)));
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
      const delayMs = delayAfter(tries);
      tries += 1;
      report({ kind: 'backing_off', error, delayMs, failures: tries });
      await clock.sleep(delayMs, stop);
    }
  }
}

class InFlightMessages {
  readonly #options: ConsumerOptions;
  readonly #queueVisibilityTimeout: DurationMs;
  /** by the message's id */
  readonly #inFlight = new Map<string, InFlight>();
  /** by message group: the first message is processed, the others wait behind it */
  readonly #lanes = new Map<string, InFlight[]>();
  readonly #draining: AbortSignal;
  #drainingSince: Instant | undefined;
  #changeSignal = new AbortController();
  #handled = 0;
  #abandoned = 0;

  /** @param draining when it aborts, no message is started any more, and messages in flight should stop soon */
  constructor(options: ConsumerOptions, queueVisibilityTimeout: DurationMs, draining: AbortSignal) {
    this.#options = options;
    this.#queueVisibilityTimeout = queueVisibilityTimeout;
    this.#draining = draining;
    draining.addEventListener('abort', () => this.#beginDrain());
  }

  get count(): number {
    return this.#inFlight.size;
  }

  get result(): ConsumerResult {
    return { handled: this.#handled, abandoned: this.#abandoned };
  }

  /** Waits until a message is removed, or the signal aborts. */
  waitForChange(stop: AbortSignal): Promise<void> {
    return this.#options.clock.sleep(this.#options.visibilityTimeout, AbortSignal.any([stop, this.#changeSignal.signal]));
  }

  /** Starts or queues a received message. While draining it releases the message instead. */
  async accept(message: ReceivedMessage): Promise<void> {
    const known = this.#inFlight.get(message.id);
    // Its receipt had expired and the queue redelivered it here. It is still being processed, now with a new receipt.
    if (known !== undefined) return void (known.message = message);
    const inFlight: InFlight = { message, settled: new AbortController() };
    if (this.#draining.aborted) return this.#releaseNow(inFlight);
    this.#inFlight.set(message.id, inFlight);
    void this.#heartbeat(inFlight);
    const lane = this.#lanes.get(message.group);
    if (lane !== undefined) return void lane.push(inFlight);
    const newLane = [inFlight];
    this.#lanes.set(message.group, newLane);
    void this.#consumeGroup(message.group, newLane);
  }

  /** Waits for the messages in flight, at most for the drain time. It then releases the remaining ones to other consumers. */
  async drainAll(): Promise<void> {
    const { clock, drain, report } = this.#options;
    const drainBy = after(this.#drainingSince ?? clock.now(), drain);
    const deadline = new AbortController();
    const timer = clock.sleep(between(clock.now(), drainBy), deadline.signal).then(() => deadline.abort());
    while (this.count > 0 && !deadline.signal.aborted) await this.waitForChange(deadline.signal);
    deadline.abort();
    await timer;
    const abandoned = [...this.#inFlight.values()];
    this.#abandoned = abandoned.length;
    for (const { message } of abandoned) report({ kind: 'abandoned', message });
    await Promise.all(abandoned.map((inFlight) => this.#releaseNow(inFlight)));
  }

  /** Releases the messages that have not started. */
  #beginDrain(): void {
    const { clock, drain, report } = this.#options;
    this.#drainingSince = clock.now();
    for (const inFlight of [...this.#lanes.values()].flatMap((lane) => lane.splice(1))) void this.#releaseNow(inFlight);
    if (this.count > 0) report({ kind: 'draining', atWork: this.count, drainMs: drain });
  }

  async #consumeGroup(group: string, lane: InFlight[]): Promise<void> {
    for (let [inFlight] = lane; inFlight !== undefined; [inFlight] = lane) {
      const isHandled = await this.#handleMessage(inFlight);
      lane.shift();
      this.#remove(inFlight);
      // Keeps the order of the group: the messages behind it must not overtake it.
      if (!isHandled) await Promise.all(lane.splice(0).map((behind) => this.#releaseNow(behind)));
    }
    this.#lanes.delete(group);
  }

  /** @returns whether the message was processed */
  async #handleMessage(inFlight: InFlight): Promise<boolean> {
    const { handle, clock, report } = this.#options;
    const drainSignal = this.#draining;
    const { body, receiveCount, hops } = inFlight.message;
    for (let tries = 0; ; tries += 1) {
      try {
        await handle(body, { isRedelivered: receiveCount + tries > 1, drainSignal, hops });
        if (inFlight.settled.signal.aborted) return true;
        await this.#options.queue.delete(inFlight.message);
        this.#handled += 1;
        return true;
      } catch (error) {
        if (inFlight.settled.signal.aborted) return true;
        // A few failed deliveries move a message to the dead-letter queue. A temporary error must not use them up.
        if (error instanceof Unavailable && !drainSignal.aborted) {
          const delayMs = delayAfter(tries);
          report({ kind: 'backing_off', error, delayMs, failures: tries + 1, message: inFlight.message });
          await clock.sleep(delayMs, drainSignal);
          if (!drainSignal.aborted) continue;
        }
        report({ kind: 'will_be_redelivered', error, message: inFlight.message });
        // Removed first, because the receive in progress may redeliver it to this process.
        this.#remove(inFlight);
        await this.#setVisibility(inFlight, drainSignal.aborted ? durationMs(0) : this.#queueVisibilityTimeout);
        return false;
      }
    }
  }

  async #heartbeat(inFlight: InFlight): Promise<void> {
    const { clock, visibilityTimeout, queue, report } = this.#options;
    for (let [isExpired, failures] = [false, 0]; ;) {
      await clock.sleep(durationMs(visibilityTimeout / heartbeatsPerTimeout), inFlight.settled.signal);
      if (inFlight.settled.signal.aborted) return;
      try {
        const isExtended = (await queue.changeVisibility(inFlight.message, visibilityTimeout)) === 'changed';
        failures = 0;
        if (!isExtended && !isExpired && !inFlight.settled.signal.aborted)
          report({ kind: 'receipt_expired', message: inFlight.message });
        isExpired = !isExtended;
      } catch (error) {
        // The next extension is early enough. The receive reports a permanent error.
        if (!(error instanceof Unavailable)) continue;
        failures += 1;
        report({
          kind: 'backing_off',
          error,
          delayMs: durationMs(visibilityTimeout / heartbeatsPerTimeout),
          failures,
          message: inFlight.message,
        });
      }
    }
  }

  /** Releases the message to other consumers at once. */
  async #releaseNow(inFlight: InFlight): Promise<void> {
    this.#remove(inFlight);
    await this.#setVisibility(inFlight, durationMs(0));
  }

  /** If the queue is unavailable, the message is redelivered after its visibility timeout. */
  async #setVisibility(inFlight: InFlight, visibilityTimeout: DurationMs): Promise<void> {
    inFlight.settled.abort();
    await this.#options.queue.changeVisibility(inFlight.message, visibilityTimeout).catch(() => undefined);
  }

  #remove(inFlight: InFlight): void {
    inFlight.settled.abort();
    this.#inFlight.delete(inFlight.message.id);
    this.#changeSignal.abort();
    this.#changeSignal = new AbortController();
  }
}
