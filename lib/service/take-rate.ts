/**
 * Counts a key's requests by the minute. A warm function takes several at once from the shared window and hands them
 * out by itself, so that counting costs a write per ten requests. What it does not hand out is lost to the others:
 * a key may be refused a little early, and never gets more than its limit.
 */
import type { KeyId } from '../engine/ids.ts';
import { type DurationMs, type Instant, after, between, instant, minutes } from '../engine/time.ts';
import type { ApiKey } from '../ports/control.ts';
import type { Deps } from './deps.ts';

export const defaultRateLimit = 120;
const windowMs = minutes(1);
const largestLease = 10;
/** Keys whose lease one warm function keeps. */
const mostKept = 1_000;

export type Rate =
  /** the key has no limit */
  | { readonly kind: 'unlimited' }
  | {
      readonly kind: 'taken' | 'rate_limited';
      /** requests per window */
      readonly limit: number;
      /** what is known to be left in this window */
      readonly remaining: number;
      readonly resetsIn: DurationMs;
    };

interface Lease {
  readonly windowStart: Instant;
  /** granted and not handed out yet */
  left: number;
  /** taken from the window by all functions, as of the last write */
  total: number;
}

export class RateTaker {
  readonly #deps: Pick<Deps, 'rates' | 'clock'>;
  readonly #leases = new Map<KeyId, Lease>();

  constructor(deps: Pick<Deps, 'rates' | 'clock'>) {
    this.#deps = deps;
  }

  /** Takes one request of the key's window. */
  async take({ keyId, rateLimitPerMinute }: Pick<ApiKey, 'keyId' | 'rateLimitPerMinute'>): Promise<Rate> {
    if (rateLimitPerMinute === null) return { kind: 'unlimited' };
    const limit = rateLimitPerMinute ?? defaultRateLimit;
    const now = this.#deps.clock.now();
    const windowStart = instant(Math.floor(now / windowMs) * windowMs);
    const lease = await this.#lease(keyId, windowStart, limit);
    const isTaken = lease.left > 0;
    if (isTaken) lease.left -= 1;
    return {
      kind: isTaken ? 'taken' : 'rate_limited',
      limit,
      remaining: Math.max(0, limit - lease.total) + lease.left,
      resetsIn: between(now, after(windowStart, windowMs)),
    };
  }

  /** The lease to take from; empty where the window is used up, which needs no further write to know. */
  async #lease(keyId: KeyId, windowStart: Instant, limit: number): Promise<Lease> {
    const kept = this.#leases.get(keyId);
    if (kept !== undefined && kept.windowStart === windowStart && (kept.left > 0 || kept.total >= limit)) return kept;
    const wanted = Math.min(largestLease, Math.max(1, Math.floor(limit / largestLease)));
    const total = await this.#deps.rates.take(keyId, windowStart, wanted);
    const granted = Math.min(wanted, Math.max(0, limit - (total - wanted)));
    const lease: Lease = { windowStart, left: granted, total: Math.min(total, limit) };
    this.#leases.delete(keyId);
    this.#leases.set(keyId, lease);
    const oldest = this.#leases.keys().next();
    if (this.#leases.size > mostKept && oldest.done !== true) this.#leases.delete(oldest.value);
    return lease;
  }
}
