/** Registers the keys of an installation: the first admin key and the configured keys. Registration can be repeated. */
import { defined } from '../../base/defined.ts';
import type { KeyId, Scope } from '../../engine/ids.ts';
import type { ApiKey, KeySettings } from '../../ports/control.ts';
import type { Secrets } from '../../ports/secrets.ts';
import type { Deps } from '../deps.ts';

type KeyDeps = Pick<Deps, 'keys' | 'clock'>;

/** A new key: its text, and the id and digest to store. */
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
  /** default: `admin` */
  readonly scopes?: KeySettings['scopes'];
}

/** A configuration error. Its message contains no secret, so it may be shown. */
export class KeyRegistrationError extends Error {
  override readonly name = 'KeyRegistrationError';
}

/**
 * Creates the first admin key, or a key of applications, if its secret is empty. Writes the secret first, so that every registered key has a known text. If the
 * secret already contains a key, registers that key if an earlier attempt did not.
 */
export async function createFirstKey(
  deps: KeyDeps & { readonly secrets: Secrets },
  { secretArn, scope, rateLimitPerMinute, scopes = ['admin'] }: FirstKey,
  { mint, parse }: { readonly mint: () => Mint; readonly parse: (text: string) => Omit<Mint, 'text'> | undefined },
): Promise<{ readonly keyId: KeyId; readonly isNew: boolean }> {
  const existing = await deps.secrets.value(secretArn);
  const minted = mint();
  if (existing === undefined) await deps.secrets.setValue(secretArn, minted.text, minted.secretHash.slice(0, tokenLength));
  const found = existing === undefined ? minted : parse(existing);
  if (found === undefined)
    throw new KeyRegistrationError(
      `the secret ${secretArn} does not contain a valid API key: delete its value or store a valid key, then deploy again`,
    );
  const { keyId, secretHash } = found;
  if ((await deps.keys.key(keyId)) === undefined) {
    const settings = defined({ scopes, rateLimitPerMinute });
    await putKey(deps, { keyId, secretHash, ...scope, ...settings });
  }
  return { keyId, isNew: existing === undefined };
}

/** Secrets Manager accepts request tokens of 32 to 64 characters. */
const tokenLength = 64;

export type SeedKey = Omit<ApiKey, 'createdAt' | 'revokedAt' | 'replacedBy' | 'lastUsedAt'>;

export interface SeedResult {
  /** configured keys that do not work, because they were revoked or replaced */
  readonly retired: readonly KeyId[];
}

/** Registers the configured keys, updates the settings of existing keys, and revokes keys removed from the configuration. */
export async function seedKeys(
  deps: KeyDeps,
  desired: readonly SeedKey[],
  removed: readonly (Scope & { readonly keyId: KeyId })[],
): Promise<SeedResult> {
  // Checks all keys before it changes any.
  const existing = await Promise.all(desired.map(async (key) => ({ key, existing: await deps.keys.key(key.keyId) })));
  for (const { key, existing: other } of existing) {
    if (other !== undefined && !isSameKey(other, key))
      throw new KeyRegistrationError(`the key id ${key.keyId} belongs to another key: choose a new keyId for a new secret`);
  }
  const retired: KeyId[] = [];
  for (const { key, existing: stored } of existing) {
    if (stored === undefined) await putKey(deps, key);
    else if (stored.revokedAt !== undefined || stored.replacedBy !== undefined) retired.push(key.keyId);
    else if (!hasSameSettings(stored, key)) await deps.keys.updateKey(key, key.keyId, settingsOf(key));
  }
  for (const key of removed) await deps.keys.revokeKey(key, key.keyId, deps.clock.now());
  return { retired };
}

async function putKey({ keys, clock }: KeyDeps, key: SeedKey): Promise<void> {
  if ((await keys.putKey({ ...key, createdAt: clock.now() })) === 'occupied')
    throw new KeyRegistrationError(`the key id ${key.keyId} belongs to another key: choose a new keyId for a new secret`);
}

const isSameKey = (one: ApiKey, other: SeedKey): boolean =>
  one.secretHash === other.secretHash && one.projectId === other.projectId && one.environment === other.environment;

const settingsOf = ({ scopes, expiresAt, rateLimitPerMinute }: KeySettings): KeySettings =>
  defined({
    scopes,
    expiresAt,
    rateLimitPerMinute,
  });

const hasSameSettings = (one: KeySettings, other: KeySettings): boolean =>
  JSON.stringify(settingsOf(one)) === JSON.stringify(settingsOf(other));
