/** When things befell the cloud, by the machine's clock and by its own, which runs ahead of that by ever more. */
import { type Instant, instant } from '../../../lib/engine/time.ts';

/** How long what was on its way at a fault may take to arrive. */
const slackMs = 2_000;

export class CloudTime {
  readonly #faults: number[] = [];
  /** from which machine's time on it was so many milliseconds ahead */
  readonly #ahead: (readonly [number, number])[] = [[0, 0]];

  get aheadMs(): number {
    return this.#ahead.at(-1)?.[1] ?? 0;
  }

  now(): Instant {
    return instant(Date.now() + this.aheadMs);
  }

  /** Something was killed just now. */
  struck(): void {
    this.#faults.push(Date.now());
  }

  moved(byMs: number): void {
    this.#ahead.push([Date.now(), this.aheadMs + byMs]);
  }

  /** The machine's time of a time of the cloud's; of one that it skipped, the moment of the skip. */
  realOf(cloudMs: number): number {
    for (const [from, aheadMs] of this.#ahead.toReversed())
      if (cloudMs >= from + aheadMs || aheadMs === 0) return Math.max(from, cloudMs - aheadMs);
    return cloudMs;
  }

  /** Kills, and moves of the clock, between two of the machine's times: what can have something done again. */
  faultsBetween(from: number, to: number): number {
    const moves = this.#ahead.slice(1).map(([at]) => at);
    return [...this.#faults, ...moves].filter((at) => at > from - slackMs && at < to + slackMs).length;
  }
}
