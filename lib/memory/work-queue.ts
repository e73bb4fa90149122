/** A queue of work in memory, on a clock that a test moves. */
import { type Hops, noHops } from '../engine/hops.ts';
import { type DurationMs, type Instant, after, seconds } from '../engine/time.ts';
import type { Clock } from '../ports/clock.ts';
import type { HeldMessage, Wanted, WorkQueue } from '../ports/work-queue.ts';

interface Lying {
  readonly id: string;
  readonly body: string;
  readonly group: string;
  readonly hops: Hops;
  receives: number;
  handle: string;
  /** in somebody's hands until then */
  heldUntil: Instant | undefined;
}

const ownHold = seconds(960);

export class MemoryWorkQueue implements WorkQueue {
  readonly #clock: Clock;
  #messages: Lying[] = [];
  #arrival = new AbortController();
  #ids = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** what lies here, in anybody's hands or nobody's */
  get bodies(): readonly string[] {
    return this.#messages.map(({ body }) => body);
  }

  /** what somebody could have now */
  get free(): readonly string[] {
    return this.#takeable().map(({ body }) => body);
  }

  send(group: string, body: string, hops: Hops = noHops): void {
    this.#ids += 1;
    this.#messages.push({ id: `m${this.#ids}`, body, group, hops, receives: 0, handle: '', heldUntil: undefined });
    this.#wake();
  }

  ownHold(): Promise<DurationMs> {
    return Promise.resolve(ownHold);
  }

  async receive({ most, wait, hold }: Wanted): Promise<readonly HeldMessage[]> {
    if (this.#takeable().length === 0) await this.#clock.sleep(wait, this.#arrival.signal);
    return this.#takeable()
      .slice(0, most)
      .map((lying) => {
        lying.receives += 1;
        lying.handle = `${lying.id}-${lying.receives}`;
        lying.heldUntil = after(this.#clock.now(), hold);
        const { id, handle, body, group, receives, hops } = lying;
        return { id, handle, body, group, receives, hops };
      });
  }

  async hold({ handle }: HeldMessage, hold: DurationMs): Promise<'held' | 'gone'> {
    const lying = this.#messages.find((each) => each.handle === handle);
    if (lying === undefined || !this.#isHeld(lying)) return 'gone';
    lying.heldUntil = after(this.#clock.now(), hold);
    if (hold === 0) this.#wake();
    return 'held';
  }

  async delete({ handle }: HeldMessage): Promise<void> {
    this.#messages = this.#messages.filter((each) => each.handle !== handle || !this.#isHeld(each));
    this.#wake();
  }

  #isHeld({ heldUntil }: Lying): boolean {
    return heldUntil !== undefined && heldUntil > this.#clock.now();
  }

  #takeable(): readonly Lying[] {
    const locked = new Set(this.#messages.filter((each) => this.#isHeld(each)).map(({ group }) => group));
    return this.#messages.filter(({ group }) => !locked.has(group));
  }

  #wake(): void {
    this.#arrival.abort();
    this.#arrival = new AbortController();
  }
}
