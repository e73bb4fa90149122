/** Makes an API key. Whoever asks has made its secret; only the digest comes here. */
import { defined } from '../../engine/defined.ts';
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

interface KeyRequest {
  readonly scopes: readonly KeyScope[];
  readonly expiresAt?: Instant;
  /** null: no limit; absent: the default */
  readonly rateLimitPerMinute?: number | null;
  /** other than the caller's own is refused */
  readonly projectId?: string;
  readonly environment?: string;
}

export type CreateKeyResult =
  | { readonly kind: 'created'; readonly key: ApiKey }
  | { readonly kind: 'foreign_project' }
  /** its end would lie behind it */
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

/** An id is 80 bits of chance: one that is taken already is no chance at all. */
export async function storeKey({ keys }: Pick<Deps, 'keys'>, key: ApiKey): Promise<void> {
  const stored = await keys.putKey(key);
  invariant(stored === 'stored', `the new key id ${key.keyId} is taken`);
}
