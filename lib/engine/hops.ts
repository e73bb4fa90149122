/**
 * Chains of messages that make no progress. A hop is a message that was sent while another message was handled, and nothing was
 * committed to any run meanwhile. Lambda's own limit on such chains is switched off, because it counts hops with progress too
 * (docs/decisions/recursive-loops.md). This one drops nothing: beyond the limit, messages are sent later and later.
 */
import { invariant } from './invariant.ts';
import { type DurationMs, durationMs, minutes, seconds } from './time.ts';

declare const brand: unique symbol;
/** Hops in a row that led to a message, 0 where it begins a chain. */
export type Hops = number & { readonly [brand]: 'Hops' };

export const hops = (count: number): Hops => {
  invariant(Number.isInteger(count) && count >= 0, () => `hops are counted, and this is ${count}`);
  return count as Hops;
};
export const noHops = hops(0);

/** What Lambda grants a chain too. No chain of the product comes near to it without a commit. */
export const maxHops = 16;
/** Whatever takes at least this long from one message to the next is no runaway, however often it happens: it does not count. */
export const minUncountedInterval: DurationMs = minutes(1);
/** Shorter than the five minutes that an alarm looks at, so that one chain keeps the alarm ringing. */
export const maxBackoff: DurationMs = minutes(4);
const baseBackoff: DurationMs = seconds(1);

/** The handling of a message, as far as it has come. */
export interface HandledMessage {
  /** of the message */
  readonly hops: Hops;
  /** to any run */
  readonly hasCommitted: boolean;
  readonly duration: DurationMs;
}

/** How a message is sent on. */
export interface NextHop {
  readonly hops: Hops;
  /** from now */
  readonly delay: DurationMs;
  /** it is sent later than it was asked for */
  readonly isSlowed: boolean;
}

/**
 * @param handled undefined: no message is handled here, and the chain begins
 * @param requestedDelay the delay that the sender wants
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
 * Every second hop beyond the limit waits, twice as long each time. The hop after it does not: a message for code waits on the
 * delay queue, and the worker that takes it there must get it to its own queue.
 */
function backoffAt(count: Hops): DurationMs {
  const beyond = count - maxHops;
  if (beyond <= 0 || beyond % 2 === 0) return durationMs(0);
  return durationMs(Math.min(maxBackoff, baseBackoff * 2 ** Math.min((beyond - 1) / 2, 20)));
}
