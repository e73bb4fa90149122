/** Time that passes only where nothing else can go on: nobody waits a year for a year's sleep. */
import { type DurationMs, type Instant, instant, seconds } from '../engine/time.ts';
import type { MemoryClock } from '../memory/clock.ts';
import type { Clock } from '../ports/clock.ts';
import type { ProgramClock } from '../program/clock.ts';

/** As many turns of the event loop without anything new are taken for standing still. */
const quietTurns = 3;
/** Code that waits for longer than this awaits something that is no step: it is given real time for that. */
const longestPause = seconds(5);

/** The clock of the code and that of the service, over one that is moved by hand. */
export class VirtualTime {
  readonly #clock: MemoryClock;
  #drains = 0;
  /** turns of the event loop that were asked for, and pauses that began */
  #moves = 0;
  /** who does nothing else until their time has come */
  #pauses = 0;

  constructor(clock: MemoryClock) {
    this.#clock = clock;
  }

  get moves(): number {
    return this.#moves;
  }

  /** Somebody waits for nothing but a moment that is near. */
  get isPaused(): boolean {
    return this.#pauses > 0;
  }

  readonly ofPrograms: ProgramClock = {
    now: () => this.#clock.now(),
    drained: async () => {
      this.#moves += 1;
      this.#drains += 1;
      await turnOfLoop();
      this.#drains -= 1;
    },
    sleep: (wait, signal) => (wait > longestPause ? this.#clock.sleep(wait, signal) : this.#pause(wait, signal)),
  };

  /** Who can be called back watches over something; who cannot, waits. */
  readonly ofService: Clock = {
    now: () => this.#clock.now(),
    sleep: (wait, signal) => (signal === undefined ? this.#pause(wait) : this.#clock.sleep(wait, signal)),
  };

  async #pause(wait: DurationMs, signal?: AbortSignal): Promise<void> {
    this.#moves += 1;
    this.#pauses += 1;
    await this.#clock.sleep(wait, signal);
    this.#pauses -= 1;
  }

  /** Until nothing goes on by itself any more. */
  async quiet(): Promise<void> {
    for (let still = 0, seen = this.#moves; still < quietTurns; seen = this.#moves) {
      await turnOfLoop();
      still = this.#drains === 0 && seen === this.#moves ? still + 1 : 0;
    }
  }

  /** To the next moment that anybody waits for, and not beyond `limit`. @returns whether there is one */
  jump(others: readonly Instant[], countsSleepers: boolean, limit: number): boolean {
    const next = Math.min((countsSleepers ? this.#clock.nextWakeAt() : undefined) ?? Infinity, ...others);
    if (next > limit || !Number.isFinite(next)) return false;
    this.#clock.set(this.#later(next));
    return true;
  }

  #later(moment: number): Instant {
    const now = this.#clock.now();
    return moment > now ? instant(moment) : now;
  }
}

const turnOfLoop = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
