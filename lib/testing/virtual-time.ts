/** Time that passes only where nothing else can go on: nobody waits a year for a year's sleep. */
import { type DurationMs, type Instant, instant, seconds } from '../engine/time.ts';
import type { MemoryClock } from '../memory/clock.ts';
import type { Clock } from '../ports/clock.ts';
import type { ProgramClock } from '../program/clock.ts';

/** As many turns of the event loop without anything new are taken for standing still. */
const requiredIdleTurns = 3;
/** Code that waits for longer than this awaits something that is no step: it is given real time for that. */
const maxPauseMs = seconds(5);

/** The clock of the code and that of the service, over one that is moved by hand. */
export class VirtualTime {
  readonly #clock: MemoryClock;
  #pendingDrains = 0;
  /** turns of the event loop that were asked for, and pauses that began */
  #activityCount = 0;
  /** who does nothing else until their time has come */
  #pausedCount = 0;

  constructor(clock: MemoryClock) {
    this.#clock = clock;
  }

  get activityCount(): number {
    return this.#activityCount;
  }

  /** Somebody waits for nothing but a moment that is near. */
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

  /** Who can be called back watches over something; who cannot, waits. */
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

  /** Until nothing goes on by itself any more. */
  async waitUntilIdle(): Promise<void> {
    for (let idleTurns = 0, seen = this.#activityCount; idleTurns < requiredIdleTurns; seen = this.#activityCount) {
      await eventLoopTurn();
      idleTurns = this.#pendingDrains === 0 && seen === this.#activityCount ? idleTurns + 1 : 0;
    }
  }

  /** To the next moment that anybody waits for, and not beyond `limit`. @returns whether there is one */
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
