/** API keys in memory. */
import type { KeyId, Scope } from '../engine/ids.ts';
import type { Instant } from '../engine/time.ts';
import type { ApiKey, KeyPage, KeyPosition, KeySettings, Keys } from '../ports/control.ts';
import { frozenCopy } from './frozen-copy.ts';
import { scopeName } from './runs.ts';

export class MemoryKeys implements Keys {
  readonly #keys = new Map<KeyId, ApiKey>();

  async key(keyId: KeyId): Promise<ApiKey | undefined> {
    return this.#keys.get(keyId);
  }

  async putKey(key: ApiKey): Promise<'stored' | 'occupied'> {
    const known = this.#keys.get(key.keyId);
    if (known !== undefined) return isSameKey(known, key) ? 'stored' : 'occupied';
    this.#keys.set(key.keyId, frozenCopy(key));
    return 'stored';
  }

  async listKeys(scope: Scope, { limit, after }: { readonly limit: number; readonly after?: KeyPosition }): Promise<KeyPage> {
    const rest = [...this.#keys.values()]
      .filter((key) => scopeName(key) === scopeName(scope) && (after === undefined || isNewer(after, key)))
      .toSorted((one, other) => (isNewer(one, other) ? -1 : 1));
    const keys = rest.slice(0, limit);
    const last = keys.at(-1);
    if (rest.length <= limit || last === undefined) return { keys };
    return { keys, next: { createdAt: last.createdAt, keyId: last.keyId } };
  }

  async revokeKey(scope: Scope, keyId: KeyId, at: Instant): Promise<Instant | undefined> {
    const key = this.#keyOf(scope, keyId);
    if (key === undefined) return undefined;
    const revokedAt = key.revokedAt ?? at;
    this.#keys.set(keyId, frozenCopy({ ...key, revokedAt }));
    return revokedAt;
  }

  async replaceKey(
    scope: Scope,
    keyId: KeyId,
    { replacedBy, expiresAt }: { readonly replacedBy: KeyId; readonly expiresAt: Instant },
  ): Promise<boolean> {
    const key = this.#keyOf(scope, keyId);
    if (key === undefined || key.revokedAt !== undefined) return false;
    if (key.replacedBy !== undefined && key.replacedBy !== replacedBy) return false;
    this.#keys.set(keyId, frozenCopy({ ...key, replacedBy, expiresAt }));
    return true;
  }

  async updateKey(scope: Scope, keyId: KeyId, settings: KeySettings): Promise<boolean> {
    const key = this.#keyOf(scope, keyId);
    if (key === undefined || key.revokedAt !== undefined || key.replacedBy !== undefined) return false;
    const { scopes: _scopes, expiresAt: _expiresAt, rateLimitPerMinute: _rate, ...rest } = key;
    this.#keys.set(keyId, frozenCopy({ ...rest, ...settings }));
    return true;
  }

  async recordKeyUse(keyId: KeyId, at: Instant): Promise<void> {
    const key = this.#keys.get(keyId);
    if (key === undefined || (key.lastUsedAt ?? -Infinity) >= at) return;
    this.#keys.set(keyId, frozenCopy({ ...key, lastUsedAt: at }));
  }

  #keyOf(scope: Scope, keyId: KeyId): ApiKey | undefined {
    const key = this.#keys.get(keyId);
    return key !== undefined && scopeName(key) === scopeName(scope) ? key : undefined;
  }
}

/** Secrets are unique, so a stored key with the same secret was put by the same request. */
const isSameKey = (one: ApiKey, other: ApiKey): boolean =>
  one.secretHash === other.secretHash && scopeName(one) === scopeName(other);

/** Newest first; keys of one moment in descending order of their ids. */
const isNewer = (one: KeyPosition, other: KeyPosition): boolean =>
  one.createdAt === other.createdAt ? one.keyId > other.keyId : one.createdAt > other.createdAt;
