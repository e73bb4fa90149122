/**
 * Works off a queue in a process of one's own: so many messages at once, one of a group at a time, each held for as long as
 * somebody is at it. What a queue's service does for a function (take, hand over, delete, let come back) is done here.
 */
import type { Hops } from '../engine/hops.ts';
import { type DurationMs, type Instant, after, between, durationMs, seconds } from '../engine/time.ts';
import type { Clock } from '../ports/clock.ts';
import { Unavailable } from '../ports/unavailable.ts';
import { type HeldMessage, type WorkQueue, mostPerReceive } from '../ports/work-queue.ts';

export interface QueueWork {
  readonly queue: WorkQueue;
  readonly clock: Clock;
  /** messages in these hands at once */
  readonly concurrency: number;
  /** so long after the last sign of life of these hands, a message is somebody else's */
  readonly hold: DurationMs;
  /** what is at work when this is to end may take so long; at least a second */
  readonly drain: DurationMs;
  /** Does what a message asks for. `Unavailable` is waited out here, with anything else that it throws the message comes back. */
  readonly take: (
    body: string,
    how: { readonly isRedelivered: boolean; readonly isToRest: AbortSignal; readonly hops: Hops },
  ) => Promise<void>;
  readonly note: (note: WorkNote) => void;
}

export type WorkNote =
  /** the queue is there, and these hands may take from it */
  | { readonly kind: 'begins' }
  /** something is not available now, and is asked again after this; without a message it is the queue itself */
  | {
      readonly kind: 'waits';
      readonly trouble: Unavailable;
      readonly delayMs: DurationMs;
      /** failures in a row, this one included */
      readonly failures: number;
      readonly message?: HeldMessage;
    }
  | { readonly kind: 'comes_back'; readonly trouble: unknown; readonly message: HeldMessage }
  /** it may be in other hands too, as every message of a queue may; the log bears that */
  | { readonly kind: 'slipped'; readonly message: HeldMessage }
  | { readonly kind: 'rests'; readonly atWork: number; readonly drainMs: DurationMs }
  /** its time was over: it is free for others */
  | { readonly kind: 'left'; readonly message: HeldMessage };

export interface WorkedOff {
  readonly done: number;
  /** that were still at work in the end */
  readonly left: number;
}

interface Held {
  message: HeldMessage;
  /** nothing more is said of it to the queue */
  readonly over: AbortController;
}

const firstDelay = seconds(1);
const mostDelayMs = 30_000;
const delayAfter = (tries: number): DurationMs => durationMs(Math.min(mostDelayMs, firstDelay * 2 ** Math.min(tries, 10)));
/** A receive is not broken off, so whoever is to end waits for it; three times as long would save a few cents a month. */
const receiveWait = seconds(5);
/** Of the time that a message is held, between two signs of life: two may be missed. */
const beatShare = 3;

/** Until the signal aborts. @throws what the queue says where it or the caller is wrong, when what was at work has rested */
export async function workOffQueue(work: QueueWork, stop: AbortSignal): Promise<WorkedOff> {
  const fatal = new AbortController();
  const hands = new Hands(work, await work.queue.ownHold(), AbortSignal.any([stop, fatal.signal]));
  work.note({ kind: 'begins' });
  try {
    await receiveInto(hands, work, stop);
  } finally {
    fatal.abort();
    await hands.rest();
  }
  return hands.worked;
}

async function receiveInto(hands: Hands, { queue, clock, concurrency, hold, drain, note }: QueueWork, stop: AbortSignal) {
  const wait = durationMs(Math.min(receiveWait, drain));
  for (let tries = 0; !stop.aborted;) {
    const free = concurrency - hands.count;
    if (free <= 0) {
      await hands.changed(stop);
      continue;
    }
    try {
      const messages = await queue.receive({ most: Math.min(free, mostPerReceive), wait, hold });
      tries = 0;
      await Promise.all(messages.map((message) => hands.accept(message)));
    } catch (trouble) {
      if (!(trouble instanceof Unavailable)) throw trouble;
      const delayMs = delayAfter(tries);
      tries += 1;
      note({ kind: 'waits', trouble, delayMs, failures: tries });
      await clock.sleep(delayMs, stop);
    }
  }
}

class Hands {
  readonly #work: QueueWork;
  readonly #ownHold: DurationMs;
  /** by the message's id */
  readonly #held = new Map<string, Held>();
  /** by group: the first one is at work, the others came with it */
  readonly #lanes = new Map<string, Held[]>();
  readonly #resting: AbortSignal;
  #restingSince: Instant | undefined;
  #bell = new AbortController();
  #done = 0;
  #left = 0;

  /** @param resting from then on nothing is begun, and what is at work is to rest */
  constructor(work: QueueWork, ownHold: DurationMs, resting: AbortSignal) {
    this.#work = work;
    this.#ownHold = ownHold;
    this.#resting = resting;
    resting.addEventListener('abort', () => this.#beginRest());
  }

  get count(): number {
    return this.#held.size;
  }

  get worked(): WorkedOff {
    return { done: this.#done, left: this.#left };
  }

  /** Until a message has left these hands, or the signal aborts. */
  changed(stop: AbortSignal): Promise<void> {
    return this.#work.clock.sleep(this.#work.hold, AbortSignal.any([stop, this.#bell.signal]));
  }

  /** @returns when it is said of it that it is not taken, where that is so */
  async accept(message: HeldMessage): Promise<void> {
    const known = this.#held.get(message.id);
    // It had slipped out of these hands and has come back to them: it is at work, and has a new handle.
    if (known !== undefined) return void (known.message = message);
    const held: Held = { message, over: new AbortController() };
    if (this.#resting.aborted) return this.#free(held);
    this.#held.set(message.id, held);
    void this.#beat(held);
    const lane = this.#lanes.get(message.group);
    if (lane !== undefined) return void lane.push(held);
    const fresh = [held];
    this.#lanes.set(message.group, fresh);
    void this.#workOff(message.group, fresh);
  }

  /** Until what has begun has ended, or its time is over: then it is free for others. */
  async rest(): Promise<void> {
    const { clock, drain, note } = this.#work;
    const restsBy = after(this.#restingSince ?? clock.now(), drain);
    const late = new AbortController();
    const timer = clock.sleep(between(clock.now(), restsBy), late.signal).then(() => late.abort());
    while (this.count > 0 && !late.signal.aborted) await this.changed(late.signal);
    late.abort();
    await timer;
    const left = [...this.#held.values()];
    this.#left = left.length;
    for (const { message } of left) note({ kind: 'left', message });
    await Promise.all(left.map((held) => this.#free(held)));
  }

  /** What has not begun is free for others at once. */
  #beginRest(): void {
    const { clock, drain, note } = this.#work;
    this.#restingSince = clock.now();
    for (const held of [...this.#lanes.values()].flatMap((lane) => lane.splice(1))) void this.#free(held);
    if (this.count > 0) note({ kind: 'rests', atWork: this.count, drainMs: drain });
  }

  async #workOff(group: string, lane: Held[]): Promise<void> {
    for (let [held] = lane; held !== undefined; [held] = lane) {
      const isDone = await this.#one(held);
      lane.shift();
      this.#drop(held);
      // What came behind it is not to go past it.
      if (!isDone) await Promise.all(lane.splice(0).map((behind) => this.#free(behind)));
    }
    this.#lanes.delete(group);
  }

  /** @returns whether it is done */
  async #one(held: Held): Promise<boolean> {
    const { take, clock, note } = this.#work;
    const isToRest = this.#resting;
    const { body, receives, hops } = held.message;
    for (let tries = 0; ; tries += 1) {
      try {
        await take(body, { isRedelivered: receives + tries > 1, isToRest, hops });
        if (held.over.signal.aborted) return true;
        await this.#work.queue.delete(held.message);
        this.#done += 1;
        return true;
      } catch (trouble) {
        if (held.over.signal.aborted) return true;
        // A queue gives a message up after a few deliveries, and waits between them: trouble that passes is not to use those up.
        if (trouble instanceof Unavailable && !isToRest.aborted) {
          const delayMs = delayAfter(tries);
          note({ kind: 'waits', trouble, delayMs, failures: tries + 1, message: held.message });
          await clock.sleep(delayMs, isToRest);
          if (!isToRest.aborted) continue;
        }
        note({ kind: 'comes_back', trouble, message: held.message });
        // First out of these hands: the receive that is under way may bring it back to them.
        this.#drop(held);
        await this.#give(held, isToRest.aborted ? durationMs(0) : this.#ownHold);
        return false;
      }
    }
  }

  async #beat(held: Held): Promise<void> {
    const { clock, hold, queue, note } = this.#work;
    for (let [isSlipped, failures] = [false, 0]; ;) {
      await clock.sleep(durationMs(hold / beatShare), held.over.signal);
      if (held.over.signal.aborted) return;
      try {
        const isHeld = (await queue.hold(held.message, hold)) === 'held';
        failures = 0;
        if (!isHeld && !isSlipped && !held.over.signal.aborted) note({ kind: 'slipped', message: held.message });
        isSlipped = !isHeld;
      } catch (trouble) {
        // The next one comes in time. What is wrong for good is said to whoever receives.
        if (!(trouble instanceof Unavailable)) continue;
        failures += 1;
        note({ kind: 'waits', trouble, delayMs: durationMs(hold / beatShare), failures, message: held.message });
      }
    }
  }

  /** Free for others at once. */
  async #free(held: Held): Promise<void> {
    this.#drop(held);
    await this.#give(held, durationMs(0));
  }

  /** Where nothing can be said of it now, it comes back by itself. */
  async #give(held: Held, hold: DurationMs): Promise<void> {
    held.over.abort();
    await this.#work.queue.hold(held.message, hold).catch(() => 'gone');
  }

  #drop(held: Held): void {
    held.over.abort();
    this.#held.delete(held.message.id);
    this.#bell.abort();
    this.#bell = new AbortController();
  }
}
