/** The time that a sender signed, in whole seconds of the epoch. */
import { type DurationMs, type Instant, instant } from '../engine/time.ts';

const msPerSecond = 1_000;

/** undefined where it is no such number: the text is what was signed, so only its one spelling is taken. */
export const parseTimestamp = (text: string): Instant | undefined =>
  /^(0|[1-9]\d{0,11})$/.test(text) ? instant(Number(text) * msPerSecond) : undefined;

/** Too old may be a replay; too new would be one that lasts. */
export const isWithinTolerance = (at: Instant, now: Instant, tolerance: DurationMs): boolean => Math.abs(now - at) <= tolerance;
