/** Creates an API key. The caller generates the secret; this module sees only its digest. */
import { defined } from '../../base/defined.ts';
import type { KeyId, Scope } from '../../engine/ids.ts';
import { invariant } from '../../engine/invariant.ts';
import type { Instant } from '../../engine/time.ts';
import { type ApiKey, type KeyScope, keyScopes } from '../../ports/control.ts';
import type { Deps } from '../deps.ts';

/** A new key's id and the digest of its secret. */
export interface MintedKey {
  readonly keyId: KeyId;
  /** SHA-256 of the secret, in hex */
  readonly secretHash: string;
}

/** Of keys whose rights the people of an identity provider have: no secret has this digest, so no request can present such a key. */
export const digestOfNoSecret = '0'.repeat(64);

interface KeyRequest {
  readonly scopes: readonly KeyScope[];
  readonly expiresAt?: Instant;
  /** null: no limit; absent: the default */
  readonly rateLimitPerMinute?: number | null;
  /** must be the caller's project, if present */
  readonly projectId?: string;
  readonly environment?: string;
}

export type CreateKeyResult =
  | { readonly kind: 'created'; readonly key: ApiKey }
  | { readonly kind: 'foreign_project' }
  /** `expiresAt` is not in the future */
  | { readonly kind: 'expired' };

export async function createKey(
  { keys, clock }: Pick<Deps, 'keys' | 'clock'>,
  scope: Scope,
  request: KeyRequest,
  minted: MintedKey,
): Promise<CreateKeyResult> {
  const createdAt = clock.now();
  const { projectId = scope.projectId, environment = scope.environment, scopes, expiresAt, rateLimitPerMinute } = request;
  if (projectId !== scope.projectId || environment !== scope.environment) return { kind: 'foreign_project' };
  if (expiresAt !== undefined && expiresAt <= createdAt) return { kind: 'expired' };
  const key: ApiKey = defined({
    ...minted,
    projectId: scope.projectId,
    environment: scope.environment,
    scopes: keyScopes.filter((known) => scopes.includes(known)),
    createdAt,
    expiresAt,
    rateLimitPerMinute,
  });
  await storeKey({ keys }, key);
  return { kind: 'created', key };
}

/** An id has 80 random bits, so a taken id means a bug. */
export async function storeKey({ keys }: Pick<Deps, 'keys'>, key: ApiKey): Promise<void> {
  const stored = await keys.putKey(key);
  invariant(stored === 'stored', `the new key id ${key.keyId} already exists`);
}
