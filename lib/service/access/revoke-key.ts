/** Revokes an API key permanently. A repeated revocation keeps the first time. Warm functions see it when they next read the key. */
import type { KeyId, Scope } from '../../engine/ids.ts';
import type { Instant } from '../../engine/time.ts';
import type { Deps } from '../deps.ts';

export type RevokeKeyResult =
  | { readonly kind: 'revoked'; readonly revokedAt: Instant }
  | { readonly kind: 'not_found' }
  /** it is the caller's own key: after a revocation, a key that can create others must remain */
  | { readonly kind: 'key_in_use' };

/** @param callers the key of the request, and the one that raised its session */
export async function revokeKey(
  { keys, clock }: Pick<Deps, 'keys' | 'clock'>,
  scope: Scope,
  keyId: KeyId,
  ...callers: readonly (KeyId | undefined)[]
): Promise<RevokeKeyResult> {
  if (callers.includes(keyId)) return { kind: 'key_in_use' };
  const revokedAt = await keys.revokeKey(scope, keyId, clock.now());
  return revokedAt === undefined ? { kind: 'not_found' } : { kind: 'revoked', revokedAt };
}
