/** Control-plane records of access: API keys, idempotency reservations, the audit trail, rate windows. */
import type { EmbedId, Environment, KeyId, ProjectId, RunId, Scope, SessionId } from '../engine/ids.ts';
import type { JsonObject } from '../engine/json.ts';
import type { Instant } from '../engine/time.ts';
import type { Embeds } from './embeds.ts';
import type { SessionIdentity, Sessions } from './sessions.ts';

export const keyScopes = [
  'trigger:write',
  'runs:read',
  'payloads:read',
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
  /** SHA-256 of the secret part, in hex. The secret itself is not stored. */
  readonly secretHash: string;
  readonly createdAt: Instant;
  readonly expiresAt?: Instant;
  readonly revokedAt?: Instant;
  /** the successor that a rotation created; `expiresAt` is then the end of the overlap */
  readonly replacedBy?: KeyId;
  /** requests per minute; null: no limit; absent: the default limit */
  readonly rateLimitPerMinute?: number | null;
  /** the hour of the last use; absent: never used */
  readonly lastUsedAt?: Instant;
}

/** The settings of a key that an update replaces. */
export type KeySettings = Pick<ApiKey, 'scopes' | 'expiresAt' | 'rateLimitPerMinute'>;

/** Cursor of a listing of keys. */
export interface KeyPosition {
  readonly createdAt: Instant;
  readonly keyId: KeyId;
}

export interface KeyPage {
  readonly keys: readonly ApiKey[];
  /** absent on the last page; a page may have fewer keys than the limit and still have a next page */
  readonly next?: KeyPosition;
}

export interface Keys {
  key(keyId: KeyId): Promise<ApiKey | undefined>;
  /** Writes the key if its id is free. Repeating the same key also returns `stored`. */
  putKey(key: ApiKey): Promise<'stored' | 'occupied'>;
  /** The keys of a scope, newest first, with revoked and expired ones. Every valid key is listed. */
  listKeys(scope: Scope, options: { readonly limit: number; readonly after?: KeyPosition }): Promise<KeyPage>;
  /** Revokes a key of this scope. Returns the time of the first revocation; undefined if the scope has no such key. */
  revokeKey(scope: Scope, keyId: KeyId, at: Instant): Promise<Instant | undefined>;
  /**
   * Sets the expiry and the successor of a key of this scope. False if the key is revoked, is missing, or has
   * another successor.
   */
  replaceKey(scope: Scope, keyId: KeyId, change: { readonly replacedBy: KeyId; readonly expiresAt: Instant }): Promise<boolean>;
  /** Replaces all settings of a key of this scope. False if the key is missing, revoked or replaced. */
  updateKey(scope: Scope, keyId: KeyId, settings: KeySettings): Promise<boolean>;
  /** Records a use of the key, unless a later use is recorded. Does nothing if the key is missing. */
  recordKeyUse(keyId: KeyId, at: Instant): Promise<void>;
}

/** The reservation of an idempotency key by a start request. It never changes: the response follows from it. */
export interface Reservation {
  readonly runId: RunId;
  /** SHA-256 of the canonical request body, in hex */
  readonly bodyHash: string;
  readonly reservedAt: Instant;
  /** identifies the request that made the reservation */
  readonly owner: string;
}

export interface Reservations {
  /** Reserves the key, unless a reservation made at or after `notBefore` exists; then returns that one. */
  reserve(
    scope: Scope,
    endpoint: string,
    key: string,
    reservation: Reservation,
    options: { readonly notBefore: Instant; readonly expiresAt: Instant },
  ): Promise<{ readonly kind: 'reserved' } | { readonly kind: 'taken'; readonly by: Reservation }>;
  /** Deletes the reservation if it still belongs to this owner. */
  release(scope: Scope, endpoint: string, key: string, owner: string): Promise<void>;
}

export interface AuditEntry {
  readonly at: Instant;
  /** null if the request named no known key */
  readonly keyId: KeyId | null;
  /** the signed-in person; absent: a program sent the key */
  readonly session?: SessionIdentity;
  /** null if authentication failed before a scope was known */
  readonly scope: Scope | null;
  readonly action: string;
  readonly resource: string;
  readonly result: 'success' | 'failure';
  readonly ip?: string;
  readonly userAgent?: string;
  readonly metadata: JsonObject;
}

/** Cursor of a listing of the audit trail. No entry has an empty id, so an empty id sorts before all entries of its time. */
export interface AuditPosition {
  readonly at: Instant;
  readonly id: string;
}

export interface RecordedEntry extends AuditEntry {
  readonly id: string;
}

export interface AuditPage {
  readonly entries: readonly RecordedEntry[];
  /** absent on the last page */
  readonly next?: AuditPosition;
}

export interface Audit {
  record(id: string, entry: AuditEntry, expiresAt: Instant): Promise<void>;
  /** Entries of a scope before a position and not older than `since`, newest first. */
  listEntries(
    scope: Scope,
    options: { readonly limit: number; readonly before: AuditPosition; readonly since: Instant },
  ): Promise<AuditPage>;
}

/**
 * Requests that are counted apart from the others of a key: those of the World of the Workflow DevKit, because a run sends several for
 * each step; those of one session; those of all sessions of the key together; and the views of one embed.
 */
export type RateLane = 'world' | 'sessions' | `session:${SessionId}` | `embed:${EmbedId}`;

export interface RateWindows {
  /**
   * Adds `count` to the key's window in one write. Returns the new total.
   * @param lane requests that are counted apart from the others
   */
  take(keyId: KeyId, windowStart: Instant, count: number, lane?: RateLane): Promise<number>;
}

export interface ControlPorts {
  readonly keys: Keys;
  readonly reservations: Reservations;
  readonly audit: Audit;
  readonly rates: RateWindows;
  readonly sessions: Sessions;
  readonly embeds: Embeds;
}
