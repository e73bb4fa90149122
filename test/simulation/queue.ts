/** A queue within what SQS promises: at least once, groups one at a time where it is FIFO, dead letters after five tries. */
import type { Prng } from './prng.ts';
import type { Faults } from './faults.ts';
import type { VirtualTime } from './virtual-time.ts';

export interface QueueRules {
  readonly isFifo: boolean;
  readonly batchSize: number;
  /** above the time-out of the function that takes from it */
  readonly visibilityMs: number;
}

interface Kept<Body> {
  readonly body: Body;
  readonly group: string;
  receives: number;
}

export interface Received<Body> {
  readonly body: Body;
  readonly isRedelivered: boolean;
}

/** What a delivery came to: every message deleted, or left to come back. A dead taker says nothing at all. */
export type Take<Body> = (batch: readonly Received<Body>[], done: (isDone: boolean) => void) => void;

const mostReceives = 5;
const deduplicationMs = 300_000;
/** How long after sending a poller has the message; now and then a queue is behind. */
const hop = (prng: Prng, isBrisk: boolean): number =>
  !isBrisk && prng.isLucky(0.02) ? prng.whole(1_000, 120_000) : prng.whole(2, 60);

export class Queue<Body> {
  readonly #rules: QueueRules;
  readonly #time: VirtualTime;
  readonly #prng: Prng;
  readonly #faults: Faults;
  readonly #isBrisk: boolean;
  readonly #take: Take<Body>;
  readonly #dead: (body: Body) => void;
  readonly #groups = new Map<string, Kept<Body>[]>();
  readonly #locked = new Set<string>();
  readonly #seen = new Map<string, number>();
  #anonymous = 0;
  sends = 0;

  constructor(
    rules: QueueRules,
    around: { time: VirtualTime; prng: Prng; faults: Faults; isBrisk: boolean },
    take: Take<Body>,
    dead: (body: Body) => void,
  ) {
    this.#rules = rules;
    this.#time = around.time;
    this.#prng = around.prng;
    this.#faults = around.faults;
    this.#isBrisk = around.isBrisk;
    this.#take = take;
    this.#dead = dead;
  }

  send(body: Body, group: string, deduplicationId: string | undefined, delayMs = 0): void {
    this.sends += 1;
    if (this.#rules.isFifo && deduplicationId !== undefined) {
      const seenAt = this.#seen.get(deduplicationId);
      if (seenAt !== undefined && this.#time.now - seenAt < deduplicationMs) return;
      this.#seen.set(deduplicationId, this.#time.now);
    }
    const copies = !this.#rules.isFifo && this.#faults.strikes('duplicate') ? 2 : 1;
    for (let copy = 0; copy < copies; copy += 1) {
      const lane = this.#rules.isFifo ? group : `#${(this.#anonymous += 1)}`;
      this.#time.in(delayMs + hop(this.#prng, this.#isBrisk), () => {
        this.#groups.set(lane, [...(this.#groups.get(lane) ?? []), { body, group: lane, receives: 0 }]);
        this.#deliver(lane);
      });
    }
  }

  #deliver(lane: string): void {
    if (this.#locked.has(lane)) return;
    const waiting = this.#groups.get(lane) ?? [];
    const batch = waiting.slice(0, this.#rules.batchSize);
    if (batch.length === 0) return void this.#groups.delete(lane);
    const [first] = batch;
    if (first !== undefined && first.receives >= mostReceives) {
      waiting.shift();
      this.#dead(first.body);
      return this.#deliver(lane);
    }
    this.#locked.add(lane);
    for (const message of batch) message.receives += 1;
    let isSettled = false;
    const release = (): void => {
      this.#locked.delete(lane);
      this.#deliver(lane);
    };
    this.#time.in(this.#rules.visibilityMs, () => {
      if (isSettled) return;
      isSettled = true;
      release();
    });
    this.#take(
      batch.map(({ body, receives }) => ({ body, isRedelivered: receives > 1 })),
      (isDone) => {
        // Too late: the messages had become visible again, and a late delete of a FIFO receipt is refused.
        if (isSettled || !isDone) return;
        isSettled = true;
        this.#groups.set(
          lane,
          (this.#groups.get(lane) ?? []).filter((message) => !batch.includes(message)),
        );
        release();
      },
    );
  }
}
