/** Times as arguments: the engine never reads a clock. Instants are timestamps and never define an order. */
import { invariant } from './invariant.ts';

declare const unit: unique symbol;

/** Milliseconds since 1970-01-01T00:00:00Z. */
export type Instant = number & { readonly [unit]: 'Instant' };
/** A length of time in milliseconds, never negative. */
export type DurationMs = number & { readonly [unit]: 'DurationMs' };

export const instant = (epochMs: number): Instant => {
  invariant(Number.isFinite(epochMs), () => `an instant must be a finite number, and is ${epochMs}`);
  return Math.trunc(epochMs) as Instant;
};

export const durationMs = (ms: number): DurationMs => {
  invariant(Number.isFinite(ms) && ms >= 0, () => `a duration must be 0 or more, and is ${ms}`);
  return ms as DurationMs;
};

export const seconds = (count: number): DurationMs => durationMs(count * 1_000);
export const minutes = (count: number): DurationMs => durationMs(count * 60_000);
export const hours = (count: number): DurationMs => durationMs(count * 3_600_000);
export const days = (count: number): DurationMs => durationMs(count * 86_400_000);

export const after = (start: Instant, wait: DurationMs): Instant => instant(start + wait);
/** Time from `start` to `end`; 0 if clocks disagree and it would be negative. */
export const between = (start: Instant, end: Instant): DurationMs => durationMs(Math.max(0, end - start));
export const earliest = (instants: readonly Instant[]): Instant | undefined =>
  instants.length === 0 ? undefined : instant(Math.min(...instants));

/** RFC 3339 in UTC, the format of public times. */
export const iso = (moment: Instant): string => new Date(moment).toISOString();
