/**
 * A queue with the guarantees of SQS: at-least-once delivery, FIFO groups one at a time, batches that may mix groups, and dead
 * letters after five deliveries, which an operator may redrive.
 */
import type { Faults } from './faults.ts';
import type { Prng } from './prng.ts';
import type { VirtualTime } from './virtual-time.ts';

export interface QueueRules {
  readonly isFifo: boolean;
  readonly batchSize: number;
  /** above the time-out of the function that takes from it */
  readonly visibilityMs: number;
}

interface Kept<Body> {
  readonly body: Body;
  readonly lane: string;
  receives: number;
}

export interface Received<Body> {
  readonly body: Body;
  readonly isRedelivered: boolean;
  /** this one included */
  readonly receives: number;
}

/** The result of a delivery: the messages of the batch to redeliver; all others are deleted. A crashed receiver returns nothing. */
export type BatchHandler<Body> = (batch: readonly Received<Body>[], done: (failed: readonly Received<Body>[]) => void) => void;

const mostReceives = 5;
const deduplicationMs = 300_000;
/** The maximum delay of a late message. */
const longestOvertakenMs = 120_000;

export interface QueueContext {
  readonly time: VirtualTime;
  readonly prng: Prng;
  readonly faults: Faults;
}

export class Queue<Body> {
  readonly #rules: QueueRules;
  readonly #time: VirtualTime;
  readonly #prng: Prng;
  readonly #faults: Faults;
  readonly #take: BatchHandler<Body>;
  readonly #dead: (body: Body) => void;
  readonly #lanes = new Map<string, Kept<Body>[]>();
  readonly #locked = new Set<string>();
  readonly #seen = new Map<string, number>();
  /** messages that the next message overtakes */
  readonly #overtaken = new Set<() => void>();
  #anonymous = 0;
  /** incremented when all messages are lost */
  #age = 0;
  #isHeld = false;
  /** makes a batch in flight visible again */
  readonly #inFlight = new Set<() => void>();
  /** batches of which a part was redelivered */
  partial = 0;

  constructor(rules: QueueRules, around: QueueContext, take: BatchHandler<Body>, dead: (body: Body) => void) {
    this.#rules = rules;
    this.#time = around.time;
    this.#prng = around.prng;
    this.#faults = around.faults;
    this.#take = take;
    this.#dead = dead;
  }

  send(body: Body, group: string, deduplicationId: string | undefined, delayMs = 0): void {
    if (this.#rules.isFifo && deduplicationId !== undefined) {
      const seenAt = this.#seen.get(deduplicationId);
      if (seenAt !== undefined && this.#time.now - seenAt < deduplicationMs) return;
      this.#seen.set(deduplicationId, this.#time.now);
    }
    const copies = !this.#rules.isFifo && this.#faults.shouldInject('duplicate') ? 2 : 1;
    for (let copy = 0; copy < copies; copy += 1) {
      const lane = this.#rules.isFifo ? group : `#${(this.#anonymous += 1)}`;
      const hopMs = this.#faults.shouldInject('late') ? this.#prng.whole(1_000, 120_000) : this.#prng.whole(2, 60);
      const age = this.#age;
      const arrive = (): void => (age === this.#age ? this.#put({ body, lane, receives: 0 }) : undefined);
      this.#time.in(delayMs + hopMs, () => (this.#faults.isScheduled('reordered') ? this.#letOvertake(arrive) : arrive()));
    }
  }

  /** The message arrives after the next one, or after a time limit. */
  #letOvertake(arrive: () => void): void {
    let hasArrived = false;
    const once = (): void => {
      if (hasArrived) return;
      hasArrived = true;
      this.#overtaken.delete(once);
      arrive();
    };
    this.#overtaken.add(once);
    this.#time.in(longestOvertakenMs, once);
  }

  /** Loses every message, visible or in flight. */
  lose(): void {
    this.#age += 1;
    this.#lanes.clear();
  }

  /** All messages in flight become visible at once, as when the whole installation restarts on one machine. */
  restart(): void {
    // A copy, because a batch that is delivered again is in flight too.
    const inFlight = Array.from(this.#inFlight);
    for (const release of inFlight) release();
  }

  /** While the queue is held, it delivers no message. */
  hold(isHeld: boolean): void {
    this.#isHeld = isHeld;
    if (!isHeld) for (const lane of this.#lanes.keys()) this.#deliver(lane);
  }

  #put(message: Kept<Body>): void {
    for (const arrive of this.#overtaken) {
      this.#faults.recordInjected('reordered');
      this.#overtaken.delete(arrive);
      this.#time.in(this.#prng.whole(1, 50), arrive);
    }
    if (this.#rules.batchSize > 1 && !this.#isHeld && this.#faults.shouldInject('stood')) {
      this.hold(true);
      this.#time.in(this.#prng.whole(1_000, 30_000), () => this.hold(false));
    }
    const waiting = this.#lanes.get(message.lane) ?? [];
    waiting.push(message);
    this.#lanes.set(message.lane, waiting);
    this.#deliver(message.lane);
  }

  #deliver(lane: string): void {
    if (this.#isHeld) return;
    const batch = this.#takeFrom(lane, this.#rules.batchSize);
    if (batch.length === 0) return;
    for (const other of this.#othersFor(batch)) batch.push(...this.#takeFrom(other, this.#rules.batchSize - batch.length));
    this.#hand(batch);
  }

  /** A batch sometimes mixes several groups, if it has room for them. */
  #othersFor(batch: readonly Kept<Body>[]): readonly string[] {
    if (!this.#rules.isFifo || batch.length >= this.#rules.batchSize || !this.#prng.isLucky(0.5)) return [];
    return [...this.#lanes.keys()];
  }

  #takeFrom(lane: string, most: number): Kept<Body>[] {
    if (this.#locked.has(lane) || most <= 0) return [];
    const waiting = this.#lanes.get(lane) ?? [];
    for (let first = waiting[0]; first !== undefined && first.receives >= mostReceives; first = waiting[0]) {
      waiting.shift();
      this.#bury(first);
    }
    if (waiting.length === 0) {
      this.#lanes.delete(lane);
      return [];
    }
    this.#locked.add(lane);
    return waiting.slice(0, most);
  }

  #bury(message: Kept<Body>): void {
    this.#dead(message.body);
    if (!this.#faults.shouldInject('redriven')) return;
    this.#time.in(this.#prng.whole(60_000, 7_200_000), () => this.#put({ ...message, receives: 0 }));
  }

  #hand(batch: readonly Kept<Body>[]): void {
    const lanes = new Set(batch.map(({ lane }) => lane));
    for (const message of batch) message.receives += 1;
    let isSettled = false;
    const release = (): void => {
      isSettled = true;
      this.#inFlight.delete(release);
      for (const lane of lanes) this.#locked.delete(lane);
      for (const lane of lanes) this.#deliver(lane);
    };
    this.#inFlight.add(release);
    this.#time.in(this.#rules.visibilityMs, () => (isSettled ? undefined : release()));
    if (this.#faults.shouldInject('lostDelivery')) return;
    const received = batch.map(({ body, receives }) => ({ body, isRedelivered: receives > 1, receives }));
    const most =
      batch.length > 1 && this.#faults.shouldInject('partlyFailed') ? this.#prng.whole(1, batch.length - 1) : batch.length;
    this.#take(received.slice(0, most), (some) => {
      const failed = [...some, ...received.slice(most)];
      // Too late: the messages had become visible again, and a late delete of a FIFO receipt is refused.
      if (isSettled || this.#faults.shouldInject('undeleted')) return;
      if (failed.length > 0 && failed.length < batch.length) this.partial += 1;
      const done = new Set(batch.filter((_, index) => !failed.some((each) => each === received[index])));
      this.#forget(done);
      if (failed.length === 0) return release();
      // A group with a failed message waits until that is visible again.
      for (const lane of new Set([...done].map((message) => message.lane)))
        if (!batch.some((message) => message.lane === lane && !done.has(message))) this.#locked.delete(lane);
      for (const lane of lanes) this.#deliver(lane);
    });
  }

  #forget(done: ReadonlySet<Kept<Body>>): void {
    for (const { lane } of done) {
      const waiting = this.#lanes.get(lane);
      if (waiting !== undefined)
        this.#lanes.set(
          lane,
          waiting.filter((message) => !done.has(message)),
        );
    }
  }
}
