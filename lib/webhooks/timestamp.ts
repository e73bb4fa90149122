/** The signed time of a delivery, in whole epoch seconds. */
import { type DurationMs, type Instant, instant } from '../engine/time.ts';

const msPerSecond = 1_000;

/** undefined where it is no such number. The text was signed, so only its canonical spelling is accepted. */
export const parseTimestamp = (text: string): Instant | undefined =>
  /^(0|[1-9]\d{0,11})$/.test(text) ? instant(Number(text) * msPerSecond) : undefined;

/** An old delivery may be a replay; one from the future could be replayed for long. */
export const isWithinTolerance = (at: Instant, now: Instant, tolerance: DurationMs): boolean => Math.abs(now - at) <= tolerance;
