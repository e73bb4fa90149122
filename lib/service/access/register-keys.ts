/** The keys that an installation begins with: the first admin key, and those of its configuration. Each may be asked for again. */
import { defined } from '../../engine/defined.ts';
import type { KeyId, Scope } from '../../engine/ids.ts';
import type { ApiKey, KeySettings } from '../../ports/control.ts';
import type { Secrets } from '../../ports/secrets.ts';
import type { Deps } from '../deps.ts';

type KeyDeps = Pick<Deps, 'keys' | 'clock'>;

/** A new key: its text, and what of it is stored. */
export interface Mint {
  readonly text: string;
  readonly keyId: KeyId;
  readonly secretHash: string;
}

export interface FirstKey {
  readonly secretArn: string;
  readonly scope: Scope;
  /** null: no limit; absent: the default */
  readonly rateLimitPerMinute?: number | null;
}

/** The owner's mistake, in words that may be shown: nothing of a secret is in them. */
export class KeyRegistrationError extends Error {
  override readonly name = 'KeyRegistrationError';
}

/**
 * Makes the first admin key where its secret has none: into the secret first, so that no key is ever registered that nobody
 * has. A secret that has one keeps it, and it is registered where that was left undone.
 */
export async function createFirstKey(
  deps: KeyDeps & { readonly secrets: Secrets },
  { secretArn, scope, rateLimitPerMinute }: FirstKey,
  { mint, parse }: { readonly mint: () => Mint; readonly parse: (text: string) => Omit<Mint, 'text'> | undefined },
): Promise<{ readonly keyId: KeyId; readonly isNew: boolean }> {
  const existing = await deps.secrets.value(secretArn);
  const minted = mint();
  if (existing === undefined) await deps.secrets.setValue(secretArn, minted.text, minted.secretHash.slice(0, tokenLength));
  const found = existing === undefined ? minted : parse(existing);
  if (found === undefined) throw new KeyRegistrationError(`the secret ${secretArn} holds something that is no key`);
  const { keyId, secretHash } = found;
  if ((await deps.keys.key(keyId)) === undefined) {
    const terms = defined({ scopes: ['admin'] as const, rateLimitPerMinute });
    await putKey(deps, { keyId, secretHash, ...scope, ...terms });
  }
  return { keyId, isNew: existing === undefined };
}

/** Of a request's token, Secrets Manager takes 32 to 64 letters. */
const tokenLength = 64;

export type SeedKey = Omit<ApiKey, 'createdAt' | 'revokedAt' | 'replacedBy' | 'lastUsedAt'>;

export interface SeedResult {
  /** keys that stand in the list and do not work: they were revoked or replaced */
  readonly retired: readonly KeyId[];
}

/** Registers the keys of the list, gives those that stand their terms, and revokes those that are gone from it. */
export async function seedKeys(
  deps: KeyDeps,
  desired: readonly SeedKey[],
  removed: readonly (Scope & { readonly keyId: KeyId })[],
): Promise<SeedResult> {
  // All that can be refused is before anything is changed.
  const existing = await Promise.all(desired.map(async (key) => ({ key, existing: await deps.keys.key(key.keyId) })));
  for (const { key, existing: other } of existing) {
    if (other !== undefined && !isSameKey(other, key))
      throw new KeyRegistrationError(`the key id ${key.keyId} is that of another key: a new secret needs a new keyId`);
  }
  const retired: KeyId[] = [];
  for (const { key, existing: one } of existing) {
    if (one === undefined) await putKey(deps, key);
    else if (one.revokedAt !== undefined || one.replacedBy !== undefined) retired.push(key.keyId);
    else if (!hasSameTerms(one, key)) await deps.keys.updateKey(key, key.keyId, termsOf(key));
  }
  for (const key of removed) await deps.keys.revokeKey(key, key.keyId, deps.clock.now());
  return { retired };
}

async function putKey({ keys, clock }: KeyDeps, key: SeedKey): Promise<void> {
  if ((await keys.putKey({ ...key, createdAt: clock.now() })) === 'occupied')
    throw new KeyRegistrationError(`the key id ${key.keyId} is that of another key: a new secret needs a new keyId`);
}

const isSameKey = (one: ApiKey, other: SeedKey): boolean =>
  one.secretHash === other.secretHash && one.projectId === other.projectId && one.environment === other.environment;

const termsOf = ({ scopes, expiresAt, rateLimitPerMinute }: KeySettings): KeySettings =>
  defined({
    scopes,
    expiresAt,
    rateLimitPerMinute,
  });

const hasSameTerms = (one: KeySettings, other: KeySettings): boolean =>
  JSON.stringify(termsOf(one)) === JSON.stringify(termsOf(other));
