/** Times of faults, by the machine's clock and by the cloud's clock, which is moved ahead. */
import { type Instant, instant } from '../../../lib/engine/time.ts';

/** How long a request in flight at a fault may take to arrive. */
const slackMs = 2_000;

export class CloudTime {
  readonly #faults: number[] = [];
  /** from this time of the machine on, the cloud's clock is this many milliseconds ahead */
  readonly #ahead: (readonly [number, number])[] = [[0, 0]];

  get aheadMs(): number {
    return this.#ahead.at(-1)?.[1] ?? 0;
  }

  now(): Instant {
    return instant(Date.now() + this.aheadMs);
  }

  /** Records a kill at the current time. */
  struck(): void {
    this.#faults.push(Date.now());
  }

  moved(byMs: number): void {
    this.#ahead.push([Date.now(), this.aheadMs + byMs]);
  }

  /** The machine's time of a cloud time; for a skipped time, the time of the skip. */
  realOf(cloudMs: number): number {
    for (const [from, aheadMs] of this.#ahead.toReversed())
      if (cloudMs >= from + aheadMs || aheadMs === 0) return Math.max(from, cloudMs - aheadMs);
    return cloudMs;
  }

  /** Kills and clock moves between two machine times; they can cause repetitions. */
  faultsBetween(from: number, to: number): number {
    const moves = this.#ahead.slice(1).map(([at]) => at);
    return [...this.#faults, ...moves].filter((at) => at > from - slackMs && at < to + slackMs).length;
  }

  /** How long before a machine time the last kill or clock move was, for a report. */
  sinceLastFaultMs(at: number): number {
    const moves = this.#ahead.slice(1).map(([moved]) => moved);
    return at - Math.max(-Infinity, ...[...this.#faults, ...moves].filter((fault) => fault <= at));
  }
}
