/**
 * Counts a key's requests per minute. A warm function leases several requests at once from the shared window, so that counting
 * costs one write per ten requests. Unused leased requests are lost to other functions: a key may be limited slightly early, but
 * never exceeds its limit.
 */
import { LRUCache } from 'lru-cache';
import type { EmbedId, KeyId, SessionId } from '../../engine/ids.ts';
import { type DurationMs, type Instant, after, between, instant, minutes } from '../../engine/time.ts';
import type { ApiKey, RateLane } from '../../ports/control.ts';
import type { Deps } from '../deps.ts';

export const defaultRateLimit = 120;
/** Requests of the World of the Workflow DevKit: a run sends several for each step. */
export const defaultWorldRateLimit = 6_000;
/** Requests of one session: the console polls, and a person works with several tabs. */
export const sessionRateLimit = 600;
/** Requests of all sessions of a key together: a key can create many. */
export const keySessionsRateLimit = 6_000;
/** Views of one embed: a function shows one view for some seconds, so this is many visitors. */
export const embedRateLimit = 300;
const windowMs = minutes(1);
const maxLease = 10;
/** Leases that one warm function caches. */
const maxLeases = 1_000;

export type RateDecision =
  /** the key has no limit */
  | { readonly kind: 'unlimited' }
  | {
      readonly kind: 'allowed' | 'rate_limited';
      /** requests per window */
      readonly limit: number;
      /** requests known to be left in this window */
      readonly remaining: number;
      readonly resetsIn: DurationMs;
    };

interface Lease {
  readonly windowStart: Instant;
  /** leased requests that are not used yet */
  available: number;
  /** requests taken from the window by all functions, as of the last write */
  total: number;
}

export class RateLimiter {
  readonly #deps: Pick<Deps, 'rates' | 'clock'>;
  readonly #lane: RateLane | undefined;
  readonly #leases = new LRUCache<string, Lease>({ max: maxLeases });

  /** @param lane whose requests this limiter counts; absent: those of the API */
  constructor(deps: Pick<Deps, 'rates' | 'clock'>, lane?: RateLane) {
    this.#deps = deps;
    this.#lane = lane;
  }

  /** Takes one request from the key's window. */
  async take({ keyId, rateLimitPerMinute }: Pick<ApiKey, 'keyId' | 'rateLimitPerMinute'>): Promise<RateDecision> {
    if (rateLimitPerMinute === null) return { kind: 'unlimited' };
    const limit = rateLimitPerMinute ?? (this.#lane === undefined ? defaultRateLimit : defaultWorldRateLimit);
    return this.#take(keyId, limit, this.#lane);
  }

  /** Takes one request from the session's window, and one from the window of all sessions of its key. */
  async takeForSession(keyId: KeyId, session: SessionId): Promise<RateDecision> {
    const own = await this.#take(keyId, sessionRateLimit, `session:${session}`);
    if (own.kind === 'rate_limited') return own;
    const all = await this.#take(keyId, keySessionsRateLimit, 'sessions');
    return all.kind === 'rate_limited' ? all : own;
  }

  /** Takes one view from the window of the embed. */
  takeForEmbed(keyId: KeyId, embed: EmbedId): Promise<RateDecision> {
    return this.#take(keyId, embedRateLimit, `embed:${embed}`);
  }

  async #take(keyId: KeyId, limit: number, lane: RateLane | undefined): Promise<RateDecision> {
    const now = this.#deps.clock.now();
    const windowStart = instant(Math.floor(now / windowMs) * windowMs);
    const lease = await this.#lease(keyId, windowStart, limit, lane);
    const isTaken = lease.available > 0;
    if (isTaken) lease.available -= 1;
    return {
      kind: isTaken ? 'allowed' : 'rate_limited',
      limit,
      remaining: Math.max(0, limit - lease.total) + lease.available,
      resetsIn: between(now, after(windowStart, windowMs)),
    };
  }

  /** Returns the lease to take from. A cached lease of a used-up window is empty and needs no further write. */
  async #lease(keyId: KeyId, windowStart: Instant, limit: number, lane: RateLane | undefined): Promise<Lease> {
    const name = `${keyId}#${lane ?? ''}`;
    const cached = this.#leases.get(name);
    if (cached !== undefined && cached.windowStart === windowStart && (cached.available > 0 || cached.total >= limit))
      return cached;
    const wanted = Math.min(maxLease, Math.max(1, Math.floor(limit / maxLease)));
    const total = await this.#deps.rates.take(keyId, windowStart, wanted, lane);
    const granted = Math.min(wanted, Math.max(0, limit - (total - wanted)));
    const lease: Lease = { windowStart, available: granted, total: Math.min(total, limit) };
    this.#leases.set(name, lease);
    return lease;
  }
}
