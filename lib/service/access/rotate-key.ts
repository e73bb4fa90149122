/**
 * Replaces a key by a new key with the same settings. The old key works until the overlap has passed. The new key is written first:
 * a crash in between leaves an unused key, but never a caller whose only key expires.
 */
import type { KeyId, Scope } from '../../engine/ids.ts';
import { type DurationMs, type Instant, after, instant } from '../../engine/time.ts';
import type { ApiKey } from '../../ports/control.ts';
import { type MintedKey, digestOfNoSecret, storeKey } from './create-key.ts';
import type { Deps } from '../deps.ts';

export type RotateKeyResult =
  | { readonly kind: 'rotated'; readonly key: ApiKey; readonly replaced: { readonly keyId: KeyId; readonly expiresAt: Instant } }
  | { readonly kind: 'not_found' }
  /** it has the rights of a grant of the identity provider: a new key would give these rights to a program */
  | { readonly kind: 'key_without_secret' }
  /** already revoked, expired or replaced: a new key would restore withdrawn access */
  | { readonly kind: 'key_retired' };

export async function rotateKey(
  { keys, clock }: Pick<Deps, 'keys' | 'clock'>,
  scope: Scope,
  keyId: KeyId,
  overlap: DurationMs,
  minted: MintedKey,
): Promise<RotateKeyResult> {
  const now = clock.now();
  const old = await keys.key(keyId);
  if (old === undefined || old.projectId !== scope.projectId || old.environment !== scope.environment) {
    return { kind: 'not_found' };
  }
  if (old.secretHash === digestOfNoSecret) return { kind: 'key_without_secret' };
  const isExpired = old.expiresAt !== undefined && old.expiresAt <= now;
  if (isExpired || old.revokedAt !== undefined || old.replacedBy !== undefined) return { kind: 'key_retired' };

  const key: ApiKey = { ...old, ...minted, createdAt: now };
  await storeKey({ keys }, key);
  const end = after(now, overlap);
  const expiresAt = old.expiresAt === undefined ? end : instant(Math.min(old.expiresAt, end));
  if (await keys.replaceKey(scope, keyId, { replacedBy: key.keyId, expiresAt })) {
    return { kind: 'rotated', key, replaced: { keyId, expiresAt } };
  }
  // A concurrent rotation or revocation succeeded first; the new key was not returned to anyone.
  await keys.revokeKey(scope, key.keyId, clock.now());
  return { kind: 'key_retired' };
}
