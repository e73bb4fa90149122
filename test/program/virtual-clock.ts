/** A virtual clock: time stops while code can run, and then jumps to the next timer. */
import type { ProgramClock } from '../../lib/program/clock.ts';
import { type DurationMs, type Instant, after } from '../../lib/engine/time.ts';
import { dawn } from '../engine/graph-run-fixture.ts';

interface Timer {
  readonly at: Instant;
  readonly order: number;
  readonly fire: () => void;
}

export class VirtualClock implements ProgramClock {
  #now: Instant = dawn;
  #order = 0;
  #activity = 0;
  readonly #timers = new Set<Timer>();
  /** number of waits for an idle event loop */
  drains = 0;

  now(): Instant {
    return this.#now;
  }

  async waitUntilIdle(): Promise<void> {
    this.drains += 1;
    this.#activity += 1;
    await boundary();
  }

  sleep(wait: DurationMs, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal?.aborted === true) return resolve();
      this.#activity += 1;
      const timer: Timer = {
        at: after(this.#now, wait),
        order: (this.#order += 1),
        fire: () => {
          this.#timers.delete(timer);
          resolve();
        },
      };
      this.#timers.add(timer);
      signal?.addEventListener('abort', timer.fire, { once: true });
    });
  }

  later(wait: DurationMs, happen: () => void): void {
    void this.sleep(wait).then(happen);
  }

  /** Advances the time until the promise settles. */
  async until<Value>(promise: Promise<Value>): Promise<Value> {
    const state = { isOver: false };
    const watched = promise.finally(() => {
      state.isOver = true;
    });
    watched.catch(() => {});
    let quiet = 0;
    for (let seen = this.#activity; !state.isOver; seen = this.#activity) {
      await boundary();
      quiet = seen === this.#activity ? quiet + 1 : 0;
      if (quiet < quietTurns) continue;
      quiet = 0;
      this.jump();
    }
    return watched;
  }

  /** Advances to the next timer. */
  jump(): void {
    const [first] = [...this.#timers].toSorted((one, other) => one.at - other.at || one.order - other.order);
    if (first === undefined) throw new Error('all programs wait, and none of them for the time');
    if (first.at > this.#now) this.#now = first.at;
    first.fire();
  }

  /** Advances the time without running code. */
  skipTo(moment: Instant): void {
    if (moment > this.#now) this.#now = moment;
  }
}

/** After this many turns of the event loop without change, the code counts as idle. */
const quietTurns = 4;

const boundary = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
