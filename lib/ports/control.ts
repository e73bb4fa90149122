/** The rest of the control plane's records: keys, reservations, audit, rate windows, the active deployment. */
import type { DeploymentId, Environment, KeyId, ProjectId, RunId, Scope } from '../engine/ids.ts';
import type { JsonObject } from '../engine/json.ts';
import type { Instant } from '../engine/time.ts';

export const keyScopes = [
  'trigger:write',
  'runs:read',
  'runs:write',
  'workflows:read',
  'workflows:write',
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
  /** requests per minute; null: no limit; absent: the default */
  readonly rateLimitPerMinute?: number | null;
}

export interface Keys {
  key(keyId: KeyId): Promise<ApiKey | undefined>;
  /** Writes the key on the condition that its id is free. */
  putKey(key: ApiKey): Promise<'stored' | 'occupied'>;
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

export interface Audit {
  record(id: string, entry: AuditEntry, expiresAt: Instant): Promise<void>;
}

export interface RateWindows {
  /** Takes `count` of a key's window in one write; the total taken so far, this included. */
  take(keyId: KeyId, windowStart: Instant, count: number): Promise<number>;
}

export interface ActiveDeployments {
  active(scope: Scope): Promise<DeploymentId | undefined>;
}
