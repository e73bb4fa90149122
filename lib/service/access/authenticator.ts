/** Whether a presented key is one of ours, and still good. */
import { timingSafeEqual } from 'node:crypto';
import type { Environment, KeyId } from '../../engine/ids.ts';
import { type Instant, hours, instant, seconds } from '../../engine/time.ts';
import type { ApiKey } from '../../ports/control.ts';
import type { Deps } from '../deps.ts';

/** What the text of a key says, its secret already digested. */
export interface PresentedKey {
  readonly environment: Environment;
  readonly keyId: KeyId;
  /** SHA-256 of the secret, in hex */
  readonly secretHash: string;
}

export type Authentication =
  | { readonly kind: 'authenticated'; readonly key: ApiKey }
  /** `key` is the one whose id was named, for the audit; the caller is told nothing of it */
  | { readonly kind: 'unauthorized'; readonly why: 'unknown' | 'wrong' | 'revoked' | 'expired'; readonly key?: ApiKey };

/** A revocation is seen within 30 s; half of that leaves room for a slow read. */
const cacheTtlMs = seconds(15);
/** Keys kept by one warm function. Unknown ones are never kept, so that nobody can fill this with guesses. */
const maxCachedKeys = 1_000;
/** How exactly the last use of a key is known: a write for each hour in which it is used, and none for the rest. */
const lastUseResolution = hours(1);

export class Authenticator {
  readonly #deps: Pick<Deps, 'keys' | 'clock'>;
  readonly #cached = new Map<KeyId, { readonly key: ApiKey; readonly readAt: Instant }>();

  /** The hour that was last noted by this function: a key that it keeps does not say so yet. */
  readonly #recordedUses = new Map<KeyId, Instant>();

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

  /** The same of a key whose secret was compared before: for what goes on under it. */
  async recheck(keyId: KeyId): Promise<Authentication> {
    const now = this.#deps.clock.now();
    const key = await this.#key(keyId, now);
    return key === undefined ? { kind: 'unauthorized', why: 'unknown' } : checkValidity(key, now);
  }

  /**
   * Notes that a key is in use, where this hour does not know it yet. It may run beside what the key is used for.
   * @throws Unavailable, which need not stop anybody
   */
  async recordUse({ keyId, lastUsedAt }: Pick<ApiKey, 'keyId' | 'lastUsedAt'>): Promise<void> {
    const hour = instant(Math.floor(this.#deps.clock.now() / lastUseResolution) * lastUseResolution);
    const known = Math.max(lastUsedAt ?? -Infinity, this.#recordedUses.get(keyId) ?? -Infinity);
    if (known >= hour) return;
    if (this.#recordedUses.size >= maxCachedKeys) this.#recordedUses.clear();
    this.#recordedUses.set(keyId, hour);
    await this.#deps.keys.recordKeyUse(keyId, hour);
  }

  async #key(keyId: KeyId, now: Instant): Promise<ApiKey | undefined> {
    const cached = this.#cached.get(keyId);
    if (cached !== undefined && now - cached.readAt < cacheTtlMs) return cached.key;
    this.#cached.delete(keyId);
    const key = await this.#deps.keys.key(keyId);
    if (key === undefined) return undefined;
    this.#cached.set(keyId, { key, readAt: now });
    const oldest = this.#cached.keys().next();
    if (this.#cached.size > maxCachedKeys && oldest.done !== true) this.#cached.delete(oldest.value);
    return key;
  }
}

const checkValidity = (key: ApiKey, now: Instant): Authentication => {
  if (key.revokedAt !== undefined) return { kind: 'unauthorized', why: 'revoked', key };
  if (key.expiresAt !== undefined && key.expiresAt <= now) return { kind: 'unauthorized', why: 'expired', key };
  return { kind: 'authenticated', key };
};

/** Compares two digests in a time that does not depend on where they differ. */
const isSameDigest = (one: string, other: string): boolean => {
  const [left, right] = [Buffer.from(one, 'hex'), Buffer.from(other, 'hex')];
  return left.length === right.length && left.length > 0 && timingSafeEqual(left, right);
};
