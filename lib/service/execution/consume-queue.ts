/**
 * Works off a queue in a process of one's own: so many messages at once, one of a group at a time, each held for as long as
 * somebody is at it. What a queue's service does for a function (take, hand over, delete, let come back) is done here.
 */
import type { Hops } from '../../engine/hops.ts';
import { type DurationMs, type Instant, after, between, durationMs, seconds } from '../../engine/time.ts';
import type { Clock } from '../../ports/clock.ts';
import { Unavailable } from '../../ports/unavailable.ts';
import { type ReceivedMessage, type WorkQueue, maxMessagesPerReceive } from '../../ports/work-queue.ts';

export interface ConsumerOptions {
  readonly queue: WorkQueue;
  readonly clock: Clock;
  /** messages in these hands at once */
  readonly concurrency: number;
  /** so long after the last sign of life of these hands, a message is somebody else's */
  readonly visibilityTimeout: DurationMs;
  /** what is at work when this is to end may take so long; at least a second */
  readonly drain: DurationMs;
  /** Does what a message asks for. `Unavailable` is waited out here, with anything else that it throws the message comes back. */
  readonly handle: (
    body: string,
    how: { readonly isRedelivered: boolean; readonly drainSignal: AbortSignal; readonly hops: Hops },
  ) => Promise<void>;
  readonly report: (report: ConsumerEvent) => void;
}

export type ConsumerEvent =
  /** the queue is there, and these hands may take from it */
  | { readonly kind: 'started' }
  /** something is not available now, and is asked again after this; without a message it is the queue itself */
  | {
      readonly kind: 'backing_off';
      readonly error: Unavailable;
      readonly delayMs: DurationMs;
      /** failures in a row, this one included */
      readonly failures: number;
      readonly message?: ReceivedMessage;
    }
  | { readonly kind: 'will_be_redelivered'; readonly error: unknown; readonly message: ReceivedMessage }
  /** it may be in other hands too, as every message of a queue may; the log bears that */
  | { readonly kind: 'receipt_expired'; readonly message: ReceivedMessage }
  | { readonly kind: 'draining'; readonly atWork: number; readonly drainMs: DurationMs }
  /** its time was over: it is free for others */
  | { readonly kind: 'abandoned'; readonly message: ReceivedMessage };

export interface ConsumerResult {
  readonly handled: number;
  /** that were still at work in the end */
  readonly abandoned: number;
}

interface InFlight {
  message: ReceivedMessage;
  /** nothing more is said of it to the queue */
  readonly settled: AbortController;
}

const initialDelay = seconds(1);
const maxDelayMs = 30_000;
const delayAfter = (tries: number): DurationMs => durationMs(Math.min(maxDelayMs, initialDelay * 2 ** Math.min(tries, 10)));
/** A receive is not broken off, so whoever is to end waits for it; three times as long would save a few cents a month. */
const receiveWait = seconds(5);
/** Of the time that a message is held, between two signs of life: two may be missed. */
const heartbeatsPerTimeout = 3;

/** Until the signal aborts. @throws what the queue says where it or the caller is wrong, when what was at work has rested */
export async function consumeQueue(work: ConsumerOptions, stop: AbortSignal): Promise<ConsumerResult> {
  const fatal = new AbortController();
  const inFlightMessages = new InFlightMessages(
    work,
    await work.queue.defaultVisibilityTimeout(),
    AbortSignal.any([stop, fatal.signal]),
  );
  work.report({ kind: 'started' });
  try {
    await receiveInto(inFlightMessages, work, stop);
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
  readonly #work: ConsumerOptions;
  readonly #queueVisibilityTimeout: DurationMs;
  /** by the message's id */
  readonly #inFlight = new Map<string, InFlight>();
  /** by group: the first one is at work, the others came with it */
  readonly #lanes = new Map<string, InFlight[]>();
  readonly #draining: AbortSignal;
  #drainingSince: Instant | undefined;
  #changeSignal = new AbortController();
  #handled = 0;
  #abandoned = 0;

  /** @param draining from then on nothing is begun, and what is at work is to rest */
  constructor(work: ConsumerOptions, queueVisibilityTimeout: DurationMs, draining: AbortSignal) {
    this.#work = work;
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

  /** Until a message has left these hands, or the signal aborts. */
  waitForChange(stop: AbortSignal): Promise<void> {
    return this.#work.clock.sleep(this.#work.visibilityTimeout, AbortSignal.any([stop, this.#changeSignal.signal]));
  }

  /** @returns when it is said of it that it is not taken, where that is so */
  async accept(message: ReceivedMessage): Promise<void> {
    const known = this.#inFlight.get(message.id);
    // It had slipped out of these hands and has come back to them: it is at work, and has a new handle.
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

  /** Until what has begun has ended, or its time is over: then it is free for others. */
  async drainAll(): Promise<void> {
    const { clock, drain, report } = this.#work;
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

  /** What has not begun is free for others at once. */
  #beginDrain(): void {
    const { clock, drain, report } = this.#work;
    this.#drainingSince = clock.now();
    for (const inFlight of [...this.#lanes.values()].flatMap((lane) => lane.splice(1))) void this.#releaseNow(inFlight);
    if (this.count > 0) report({ kind: 'draining', atWork: this.count, drainMs: drain });
  }

  async #consumeGroup(group: string, lane: InFlight[]): Promise<void> {
    for (let [inFlight] = lane; inFlight !== undefined; [inFlight] = lane) {
      const isHandled = await this.#handleMessage(inFlight);
      lane.shift();
      this.#remove(inFlight);
      // What came behind it is not to go past it.
      if (!isHandled) await Promise.all(lane.splice(0).map((behind) => this.#releaseNow(behind)));
    }
    this.#lanes.delete(group);
  }

  /** @returns whether it is done */
  async #handleMessage(inFlight: InFlight): Promise<boolean> {
    const { handle, clock, report } = this.#work;
    const drainSignal = this.#draining;
    const { body, receiveCount, hops } = inFlight.message;
    for (let tries = 0; ; tries += 1) {
      try {
        await handle(body, { isRedelivered: receiveCount + tries > 1, drainSignal, hops });
        if (inFlight.settled.signal.aborted) return true;
        await this.#work.queue.delete(inFlight.message);
        this.#handled += 1;
        return true;
      } catch (error) {
        if (inFlight.settled.signal.aborted) return true;
        // A queue gives a message up after a few deliveries, and waits between them: trouble that passes is not to use those up.
        if (error instanceof Unavailable && !drainSignal.aborted) {
          const delayMs = delayAfter(tries);
          report({ kind: 'backing_off', error, delayMs, failures: tries + 1, message: inFlight.message });
          await clock.sleep(delayMs, drainSignal);
          if (!drainSignal.aborted) continue;
        }
        report({ kind: 'will_be_redelivered', error, message: inFlight.message });
        // First out of these hands: the receive that is under way may bring it back to them.
        this.#remove(inFlight);
        await this.#setVisibility(inFlight, drainSignal.aborted ? durationMs(0) : this.#queueVisibilityTimeout);
        return false;
      }
    }
  }

  async #heartbeat(inFlight: InFlight): Promise<void> {
    const { clock, visibilityTimeout, queue, report } = this.#work;
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
        // The next one comes in time. What is wrong for good is said to whoever receives.
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

  /** Free for others at once. */
  async #releaseNow(inFlight: InFlight): Promise<void> {
    this.#remove(inFlight);
    await this.#setVisibility(inFlight, durationMs(0));
  }

  /** Where nothing can be said of it now, it comes back by itself. */
  async #setVisibility(inFlight: InFlight, visibilityTimeout: DurationMs): Promise<void> {
    inFlight.settled.abort();
    await this.#work.queue.changeVisibility(inFlight.message, visibilityTimeout).catch(() => 'gone');
  }

  #remove(inFlight: InFlight): void {
    inFlight.settled.abort();
    this.#inFlight.delete(inFlight.message.id);
    this.#changeSignal.abort();
    this.#changeSignal = new AbortController();
  }
}
