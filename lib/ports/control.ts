/** The rest of the control plane's records: keys, reservations, audit, rate windows. */
import type { Environment, KeyId, ProjectId, RunId, Scope } from '../engine/ids.ts';
import type { JsonObject } from '../engine/json.ts';
import type { Instant } from '../engine/time.ts';

export const keyScopes = [
  'trigger:write',
  'runs:read',
  'runs:write',
  'workflows:read',
  'workflows:write',
  'queries:read',
  'queries:write',
  'deploy:read',
  'deploy:write',
  'world:proxy',
  'admin',
] as const;
export type KeyScope = (typeof keyScopes)[number];

export interface ApiKey {
  readonly keyId: KeyId;
  readonly projectId: ProjectId;
  readonly environment: Environment;
  readonly scopes: readonly KeyScope[];
  /** SHA-256 of the secret part, in hex; the secret itself is nowhere */
  readonly secretHash: string;
  readonly createdAt: Instant;
  readonly expiresAt?: Instant;
  readonly revokedAt?: Instant;
  /** the key that a rotation made in its place; `expiresAt` is then the end of the overlap */
  readonly replacedBy?: KeyId;
  /** requests per minute; null: no limit; absent: the default */
  readonly rateLimitPerMinute?: number | null;
  /** the hour in which it was last used; absent: it never was */
  readonly lastUsedAt?: Instant;
}

/** What a key may do, and for how long. */
export type KeySettings = Pick<ApiKey, 'scopes' | 'expiresAt' | 'rateLimitPerMinute'>;

/** Where a listing of keys stands. */
export interface KeyPosition {
  readonly createdAt: Instant;
  readonly keyId: KeyId;
}

export interface KeyPage {
  readonly keys: readonly ApiKey[];
  /** absent at the end; a page may hold fewer keys than were asked for and still go on */
  readonly next?: KeyPosition;
}

export interface Keys {
  key(keyId: KeyId): Promise<ApiKey | undefined>;
  /** Writes the key on the condition that its id is free. The same key once more is stored already. */
  putKey(key: ApiKey): Promise<'stored' | 'occupied'>;
  /** The keys of a scope, newest first, the revoked and expired ones too. A key that works is always among them. */
  listKeys(scope: Scope, options: { readonly limit: number; readonly after?: KeyPosition }): Promise<KeyPage>;
  /** Revokes a key of this scope. Since when it is revoked, which the first time decides; undefined where there is none. */
  revokeKey(scope: Scope, keyId: KeyId, at: Instant): Promise<Instant | undefined>;
  /**
   * Gives a key of this scope its end and its successor, on the condition that it is not revoked and has no other
   * successor; false where that does not hold.
   */
  replaceKey(scope: Scope, keyId: KeyId, change: { readonly replacedBy: KeyId; readonly expiresAt: Instant }): Promise<boolean>;
  /** Gives a key of this scope other terms, all of them; false where there is none, or it is revoked or replaced. */
  updateKey(scope: Scope, keyId: KeyId, settings: KeySettings): Promise<boolean>;
  /** Notes that a key was in use at that time, unless a later one is known. Of a key that there is not, nothing is noted. */
  recordKeyUse(keyId: KeyId, at: Instant): Promise<void>;
}

/** A start that was begun under a key. Final from the beginning: the answer follows from it. */
export interface Reservation {
  readonly runId: RunId;
  /** SHA-256 of the caller's canonical body, in hex */
  readonly bodyHash: string;
  readonly reservedAt: Instant;
  /** tells one's own reservation from another's */
  readonly owner: string;
}

export interface Reservations {
  /** Reserves unless an unexpired reservation stands (one made at or after `notBefore`); then that one is the answer. */
  reserve(
    scope: Scope,
    endpoint: string,
    key: string,
    reservation: Reservation,
    options: { readonly notBefore: Instant; readonly expiresAt: Instant },
  ): Promise<{ readonly kind: 'reserved' } | { readonly kind: 'taken'; readonly by: Reservation }>;
  /** Gives a reservation back, on the condition that it is still this owner's. */
  release(scope: Scope, endpoint: string, key: string, owner: string): Promise<void>;
}

export interface AuditEntry {
  readonly at: Instant;
  /** null where no key could be told */
  readonly keyId: KeyId | null;
  /** null where authentication failed before a scope was known */
  readonly scope: Scope | null;
  readonly action: string;
  readonly resource: string;
  readonly result: 'success' | 'failure';
  readonly ip?: string;
  readonly userAgent?: string;
  readonly metadata: JsonObject;
}

/** Where a listing of the trail stands. No id is empty, so an empty one lies before every entry of its time. */
export interface AuditPosition {
  readonly at: Instant;
  readonly id: string;
}

export interface RecordedEntry extends AuditEntry {
  readonly id: string;
}

export interface AuditPage {
  readonly entries: readonly RecordedEntry[];
  /** absent at the end */
  readonly next?: AuditPosition;
}

export interface Audit {
  record(id: string, entry: AuditEntry, expiresAt: Instant): Promise<void>;
  /** Entries of a scope, newest first: those before a position, and not older than `since`. */
  listEntries(
    scope: Scope,
    options: { readonly limit: number; readonly before: AuditPosition; readonly since: Instant },
  ): Promise<AuditPage>;
}

export interface RateWindows {
  /** Takes `count` of a key's window in one write; the total taken so far, this included. */
  take(keyId: KeyId, windowStart: Instant, count: number): Promise<number>;
}
