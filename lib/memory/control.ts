/** Keys, reservations, the audit trail and rate windows in memory. */
import type { KeyId, Scope } from '../engine/ids.ts';
import type { Instant } from '../engine/time.ts';
import type {
  RateWindows,
  Reservation,
  Reservations,
  ApiKey,
  KeyPage,
  KeyPosition,
  KeySettings,
  Keys,
  Audit,
  AuditEntry,
  AuditPage,
  AuditPosition,
  RateLane,
} from '../ports/control.ts';
import { frozenCopy } from './frozen-copy.ts';
import { scopeName } from './runs.ts';
import { MemoryEmbeds } from './embeds.ts';
import { MemorySessions } from './sessions.ts';

/** Idempotency reservations and rate windows in memory. */
class MemoryReservations implements Reservations {
  readonly #reservations = new Map<string, Reservation>();

  async reserve(
    scope: Scope,
    endpoint: string,
    key: string,
    reservation: Reservation,
    { notBefore }: { readonly notBefore: Instant },
  ): ReturnType<Reservations['reserve']> {
    const name = reservationName(scope, endpoint, key);
    const existing = this.#reservations.get(name);
    if (existing !== undefined && existing.reservedAt >= notBefore) return { kind: 'taken', by: existing };
    this.#reservations.set(name, frozenCopy(reservation));
    return { kind: 'reserved' };
  }

  async release(scope: Scope, endpoint: string, key: string, owner: string): Promise<void> {
    const name = reservationName(scope, endpoint, key);
    if (this.#reservations.get(name)?.owner === owner) this.#reservations.delete(name);
  }
}

const reservationName = (scope: Scope, endpoint: string, key: string): string =>
  JSON.stringify([scopeName(scope), endpoint, key]);

class MemoryRateWindows implements RateWindows {
  readonly #taken = new Map<string, number>();

  async take(keyId: KeyId, windowStart: Instant, count: number, lane?: RateLane): Promise<number> {
    const window = `${keyId}#${windowStart}#${lane ?? ''}`;
    const total = (this.#taken.get(window) ?? 0) + count;
    this.#taken.set(window, total);
    return total;
  }
}

/** API keys in memory. */
class MemoryKeys implements Keys {
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
      .filter((key) => scopeName(key) === scopeName(scope) && (after === undefined || isNewerKey(after, key)))
      .toSorted((one, other) => (isNewerKey(one, other) ? -1 : 1));
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
const isNewerKey = (one: KeyPosition, other: KeyPosition): boolean =>
  one.createdAt === other.createdAt ? one.keyId > other.keyId : one.createdAt > other.createdAt;

/** The audit trail in memory. */
export class MemoryAudit implements Audit {
  /** by id, in the order of the first writes */
  readonly entries = new Map<string, AuditEntry>();

  async record(id: string, entry: AuditEntry): Promise<void> {
    this.entries.set(id, frozenCopy(entry));
  }

  async listEntries(
    scope: Scope,
    { limit, before, since }: { readonly limit: number; readonly before: AuditPosition; readonly since: Instant },
  ): Promise<AuditPage> {
    const rest = [...this.entries]
      .map(([id, entry]) => ({ ...entry, id }))
      .filter((entry) => entry.scope !== null && scopeName(entry.scope) === scopeName(scope))
      .filter((entry) => isNewerEntry(before, entry) && entry.at >= since)
      .toSorted((one, other) => (isNewerEntry(one, other) ? -1 : 1));
    const entries = rest.slice(0, limit);
    const last = entries.at(-1);
    return rest.length > limit && last !== undefined ? { entries, next: { at: last.at, id: last.id } } : { entries };
  }
}

const isNewerEntry = (one: AuditPosition, other: AuditPosition): boolean =>
  one.at === other.at ? one.id > other.id : one.at > other.at;

export const memoryControl = () => ({
  keys: new MemoryKeys(),
  reservations: new MemoryReservations(),
  audit: new MemoryAudit(),
  rates: new MemoryRateWindows(),
  sessions: new MemorySessions(),
  embeds: new MemoryEmbeds(),
});
