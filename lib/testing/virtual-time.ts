/** Virtual time: it advances only when nothing else can happen, so a sleep of a year takes milliseconds. */
import { type DurationMs, type Instant, instant, seconds } from '../engine/time.ts';
import type { MemoryClock } from '../memory/clock.ts';
import type { Clock } from '../ports/clock.ts';
import type { ProgramClock } from '../program/clock.ts';

/** The environment is idle after this many turns of the event loop without activity. */
const requiredIdleTurns = 3;
/** A longer wait of the code concerns something that is no step: it gets real time. */
const maxPauseMs = seconds(5);

/** The clocks of the code and of the service, over one clock that is advanced explicitly. */
export class VirtualTime {
  readonly #clock: MemoryClock;
  #pendingDrains = 0;
  /** turns of the event loop that were awaited, and pauses that began */
  #activityCount = 0;
  /** the number of running pauses, which only wait for the clock */
  #pausedCount = 0;

  constructor(clock: MemoryClock) {
    this.#clock = clock;
  }

  get activityCount(): number {
    return this.#activityCount;
  }

  /** Whether some work only waits for a time in the near future. */
  get isPaused(): boolean {
    return this.#pausedCount > 0;
  }

  readonly programClock: ProgramClock = {
    now: () => this.#clock.now(),
    waitUntilIdle: async () => {
      this.#activityCount += 1;
      this.#pendingDrains += 1;
      await eventLoopTurn();
      this.#pendingDrains -= 1;
    },
    sleep: (wait, signal) => (wait > maxPauseMs ? this.#clock.sleep(wait, signal) : this.#pause(wait, signal)),
  };

  /** A sleep with an abort signal belongs to a watcher, and does not count as a pause. */
  readonly serviceClock: Clock = {
    now: () => this.#clock.now(),
    sleep: (wait, signal) => (signal === undefined ? this.#pause(wait) : this.#clock.sleep(wait, signal)),
  };

  async #pause(wait: DurationMs, signal?: AbortSignal): Promise<void> {
    this.#activityCount += 1;
    this.#pausedCount += 1;
    await this.#clock.sleep(wait, signal);
    this.#pausedCount -= 1;
  }

  /** Resolves when nothing happens without a time advance. */
  async waitUntilIdle(): Promise<void> {
    for (let idleTurns = 0, seen = this.#activityCount; idleTurns < requiredIdleTurns; seen = this.#activityCount) {
      await eventLoopTurn();
      idleTurns = this.#pendingDrains === 0 && seen === this.#activityCount ? idleTurns + 1 : 0;
    }
  }

  /** Advances to the next wake-up time, at most to `limit`. @returns whether there is one */
  advanceToNext(candidateTimes: readonly Instant[], includeSleepers: boolean, limit: number): boolean {
    const next = Math.min((includeSleepers ? this.#clock.nextWakeAt() : undefined) ?? Infinity, ...candidateTimes);
    if (next > limit || !Number.isFinite(next)) return false;
    this.#clock.set(this.#notBeforeNow(next));
    return true;
  }

  #notBeforeNow(moment: number): Instant {
    const now = this.#clock.now();
    return moment > now ? instant(moment) : now;
  }
}

const eventLoopTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
