/** Timers in memory: a test or a simulation takes the due ones. */
import type { Instant } from '../engine/time.ts';
import type { Clock } from '../ports/clock.ts';
import type { Job } from '../ports/jobs.ts';
import type { Timers } from '../ports/timers.ts';
import { frozenCopy } from './frozen-copy.ts';

export interface Timer {
  readonly name: string;
  readonly at: Instant;
  readonly job: Job;
}

export class MemoryTimers implements Timers {
  readonly #clock: Clock;
  readonly #timers = new Map<string, Timer>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async set(timer: Timer): Promise<void> {
    if (!this.#timers.has(timer.name)) this.#timers.set(timer.name, frozenCopy(timer));
  }

  pending(): readonly Timer[] {
    return [...this.#timers.values()].toSorted((one, other) => one.at - other.at);
  }

  /** Removes and returns the due timers, the earliest first. Their names are free again. */
  takeDue(): readonly Timer[] {
    const due = this.pending().filter(({ at }) => at <= this.#clock.now());
    for (const { name } of due) this.#timers.delete(name);
    return due;
  }
}
