/**
 * Virtual time: events happen one after another, each at its time. Between two events all pending promises settle, so that the
 * queue alone determines the order.
 */
import { type Instant, instant } from '../../lib/engine/time.ts';

interface Happening {
  readonly at: number;
  readonly order: number;
  readonly happen: () => void;
}

export class VirtualTime {
  #now: number;
  #order = 0;
  #happened = 0;
  readonly #heap: Happening[] = [];
  #held: Promise<unknown> | undefined;

  constructor(start: number) {
    this.#now = start;
  }

  get now(): Instant {
    return instant(this.#now);
  }

  at(moment: number, happen: () => void): void {
    this.#push({ at: Math.max(moment, this.#now), order: (this.#order += 1), happen });
  }

  /** How many things have happened. */
  get happened(): number {
    return this.#happened;
  }

  /** How many things are still to happen. */
  get ahead(): number {
    return this.#heap.length;
  }

  /** When the next thing happens. */
  get nextAt(): number {
    return this.#heap[0]?.at ?? Infinity;
  }

  /** Virtual time stops until the promise settles: for work that takes real time. */
  hold<Value>(work: Promise<Value>): Promise<Value> {
    this.#held = Promise.allSettled([this.#held, work]);
    return work;
  }

  in(ms: number, happen: () => void): void {
    this.at(this.#now + ms, happen);
  }

  /** Runs until nothing is left, the moment has come, or `isOver` says so. */
  async run(until: number, isOver: () => boolean): Promise<void> {
    // Many runs in sequence must let Node's event loop process other work.
    await new Promise((resolve) => setImmediate(resolve));
    await boundary();
    for (let next = this.#heap[0]; next !== undefined && next.at <= until && !isOver(); next = this.#heap[0]) {
      this.#pop();
      this.#now = next.at;
      next.happen();
      this.#happened += 1;
      await boundary();
      while (this.#held !== undefined) {
        const held = this.#held;
        await held;
        if (this.#held === held) this.#held = undefined;
        await boundary();
      }
    }
  }

  #push(entry: Happening): void {
    const heap = this.#heap;
    let index = heap.length;
    while (index > 0) {
      const above = (index - 1) >> 1;
      const parent = heap[above];
      if (parent === undefined || !isBefore(entry, parent)) break;
      heap[index] = parent;
      index = above;
    }
    heap[index] = entry;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let index = 0;
    for (;;) {
      let below = 2 * index + 1;
      let least = heap[below];
      const right = heap[below + 1];
      if (least !== undefined && right !== undefined && isBefore(right, least)) {
        least = right;
        below += 1;
      }
      if (least === undefined || !isBefore(least, last)) break;
      heap[index] = least;
      index = below;
    }
    heap[index] = last;
  }
}

const isBefore = (one: Happening, other: Happening): boolean =>
  one.at < other.at || (one.at === other.at && one.order < other.order);

/** A tick that is asked for in a microtask: Node takes it when no microtask is left, and does not go round its event loop for it. */
const boundary = (): Promise<void> => new Promise((resolve) => process.nextTick(resolve));
