/**
 * Chains of messages that make no progress. A hop is a message sent while another message was handled, without a commit to any run.
 * Lambda's own loop detection is switched off, because it also counts hops with progress (docs/decisions/recursive-loops.md). This
 * limit drops nothing: beyond it, messages are delayed more and more.
 */
import { backoffMs } from '../base/retry.ts';
import { invariant } from './invariant.ts';
import { type DurationMs, durationMs, minutes, seconds } from './time.ts';

declare const brand: unique symbol;
/** Consecutive hops that led to a message; 0 starts a chain. */
export type Hops = number & { readonly [brand]: 'Hops' };

export const hops = (count: number): Hops => {
  invariant(Number.isInteger(count) && count >= 0, () => `a hop count must be a whole number from 0, and is ${count}`);
  return count as Hops;
};
export const noHops = hops(0);

/** The limit that Lambda uses. No chain of the product reaches it without a commit. */
export const maxHops = 16;
/** If a hop takes at least this long, it is not part of a runaway loop and does not count. */
export const minUncountedInterval: DurationMs = minutes(1);
/** Shorter than the alarm's period of five minutes, so that one chain keeps the alarm active. */
export const maxBackoff: DurationMs = minutes(4);
const baseBackoff: DurationMs = seconds(1);

/** The handling of a message so far. */
export interface HandledMessage {
  /** of the message */
  readonly hops: Hops;
  /** a commit to any run */
  readonly hasCommitted: boolean;
  readonly duration: DurationMs;
}

/** How the next message is sent. */
export interface NextHop {
  readonly hops: Hops;
  /** from now */
  readonly delay: DurationMs;
  /** sent later than requested */
  readonly isSlowed: boolean;
}

/**
 * @param handled undefined: the sender handles no message, so the chain starts
 * @param requestedDelay the delay that the sender requests
 */
export function nextHop(handled: HandledMessage | undefined, requestedDelay: DurationMs): NextHop {
  if (handled === undefined || handled.hasCommitted) return { hops: noHops, delay: requestedDelay, isSlowed: false };
  if (handled.duration + requestedDelay >= minUncountedInterval)
    return { hops: handled.hops, delay: requestedDelay, isSlowed: false };
  const next = hops(handled.hops + 1);
  const minDelay = backoffAt(next);
  return minDelay > requestedDelay
    ? { hops: next, delay: minDelay, isSlowed: true }
    : { hops: next, delay: requestedDelay, isSlowed: false };
}

/**
 * Every second hop beyond the limit waits, twice as long each time. The hop between them does not: a message for code waits on the
 * delay queue, and its worker there must forward it to the code queue.
 */
function backoffAt(count: Hops): DurationMs {
  const beyond = count - maxHops;
  if (beyond <= 0 || beyond % 2 === 0) return durationMs(0);
  return durationMs(backoffMs({ baseMs: baseBackoff, maxMs: maxBackoff }, (beyond + 1) / 2));
}
