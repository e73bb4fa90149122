/** Authenticates API keys: finds the key, compares its digest, and checks revocation and expiry. */
import { timingSafeEqual } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Environment, KeyId } from '../../engine/ids.ts';
import { type Instant, hours, instant, seconds } from '../../engine/time.ts';
import type { ApiKey } from '../../ports/control.ts';
import type { Deps } from '../deps.ts';

/** The parsed text of a key, with the digest of its secret. */
export interface PresentedKey {
  readonly environment: Environment;
  readonly keyId: KeyId;
  /** SHA-256 of the secret, in hex */
  readonly secretHash: string;
}

export type Authentication =
  | { readonly kind: 'authenticated'; readonly key: ApiKey }
  /** `key`: the key with the presented id, for the audit entry; the response does not mention it */
  | { readonly kind: 'unauthorized'; readonly why: 'unknown' | 'wrong' | 'revoked' | 'expired'; readonly key?: ApiKey };

/** A revocation takes effect within 30 s; half of that leaves time for a slow read. */
export const keyCacheTtlMs = seconds(15);
/** Keys cached by one warm function. Unknown keys are not cached, so that guessed ids cannot fill the cache. */
const maxCachedKeys = 1_000;
/** Resolution of a key's last use: one write for each hour in which the key is used. */
export const lastUseResolution = hours(1);

export class Authenticator {
  readonly #deps: Pick<Deps, 'keys' | 'clock'>;
  readonly #cached = new LRUCache<KeyId, { readonly key: ApiKey; readonly readAt: Instant }>({ max: maxCachedKeys });

  /** The last hour that this function recorded for each key; a cached key may have an older `lastUsedAt`. */
  readonly #recordedUses = new LRUCache<KeyId, Instant>({ max: maxCachedKeys });

  constructor(deps: Pick<Deps, 'keys' | 'clock'>) {
    this.#deps = deps;
  }

  async authenticate(presented: PresentedKey): Promise<Authentication> {
    const now = this.#deps.clock.now();
    const key = await this.#key(presented.keyId, now);
    if (key === undefined) return { kind: 'unauthorized', why: 'unknown' };
    if (!isSameDigest(key.secretHash, presented.secretHash) || key.environment !== presented.environment) {
      return { kind: 'unauthorized', why: 'wrong', key };
    }
    return checkValidity(key, now);
  }

  /** Checks a key again whose secret was compared before, for a long request such as a stream. */
  async recheck(keyId: KeyId): Promise<Authentication> {
    const now = this.#deps.clock.now();
    const key = await this.#key(keyId, now);
    return key === undefined ? { kind: 'unauthorized', why: 'unknown' } : checkValidity(key, now);
  }

  /**
   * Records the key's use, once an hour. It may run concurrently with the request.
   * @throws Unavailable; the caller may continue without the record
   */
  async recordUse({ keyId, lastUsedAt }: Pick<ApiKey, 'keyId' | 'lastUsedAt'>): Promise<void> {
    const hour = instant(Math.floor(this.#deps.clock.now() / lastUseResolution) * lastUseResolution);
    const known = Math.max(lastUsedAt ?? -Infinity, this.#recordedUses.get(keyId) ?? -Infinity);
    if (known >= hour) return;
    this.#recordedUses.set(keyId, hour);
    await this.#deps.keys.recordKeyUse(keyId, hour);
  }

  async #key(keyId: KeyId, now: Instant): Promise<ApiKey | undefined> {
    const cached = this.#cached.get(keyId);
    if (cached !== undefined && now - cached.readAt < keyCacheTtlMs) return cached.key;
    this.#cached.delete(keyId);
    const key = await this.#deps.keys.key(keyId);
    if (key === undefined) return undefined;
    this.#cached.set(keyId, { key, readAt: now });
    return key;
  }
}

const checkValidity = (key: ApiKey, now: Instant): Authentication => {
  if (key.revokedAt !== undefined) return { kind: 'unauthorized', why: 'revoked', key };
  if (key.expiresAt !== undefined && key.expiresAt <= now) return { kind: 'unauthorized', why: 'expired', key };
  return { kind: 'authenticated', key };
};

/** Compares two digests in constant time. */
const isSameDigest = (one: string, other: string): boolean => {
  const [left, right] = [Buffer.from(one, 'hex'), Buffer.from(other, 'hex')];
  return left.length === right.length && left.length > 0 && timingSafeEqual(left, right);
};
