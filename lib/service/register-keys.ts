/** The keys that an installation begins with: the first admin key, and those of its configuration. Each may be asked for again. */
import type { KeyId, Scope } from '../engine/ids.ts';
import type { ApiKey, KeyTerms } from '../ports/control.ts';
import type { Secrets } from '../ports/secrets.ts';
import type { Deps } from './deps.ts';

type World = Pick<Deps, 'keys' | 'clock'>;

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
export class KeyRegistrationFault extends Error {
  override readonly name = 'KeyRegistrationFault';
}

/**
 * Makes the first admin key where its secret has none: into the secret first, so that no key is ever registered that nobody
 * has. A secret that has one keeps it, and it is registered where that was left undone.
 */
export async function makeFirstKey(
  world: World & { readonly secrets: Secrets },
  { secretArn, scope, rateLimitPerMinute }: FirstKey,
  { mint, parse }: { readonly mint: () => Mint; readonly parse: (text: string) => Omit<Mint, 'text'> | undefined },
): Promise<{ readonly keyId: KeyId; readonly isNew: boolean }> {
  const standing = await world.secrets.value(secretArn);
  const fresh = mint();
  if (standing === undefined) await world.secrets.setValue(secretArn, fresh.text, fresh.secretHash.slice(0, tokenLength));
  const found = standing === undefined ? fresh : parse(standing);
  if (found === undefined) throw new KeyRegistrationFault(`the secret ${secretArn} holds something that is no key`);
  const { keyId, secretHash } = found;
  if ((await world.keys.key(keyId)) === undefined) {
    const terms = { scopes: ['admin'] as const, ...(rateLimitPerMinute === undefined ? {} : { rateLimitPerMinute }) };
    await put(world, { keyId, secretHash, ...scope, ...terms });
  }
  return { keyId, isNew: standing === undefined };
}

/** Of a request's token, Secrets Manager takes 32 to 64 letters. */
const tokenLength = 64;

export type SeedKey = Omit<ApiKey, 'createdAt' | 'revokedAt' | 'replacedBy' | 'lastUsedAt'>;

export interface Seeded {
  /** keys that stand in the list and do not work: they were revoked or replaced */
  readonly retired: readonly KeyId[];
}

/** Registers the keys of the list, gives those that stand their terms, and revokes those that are gone from it. */
export async function seedKeys(
  world: World,
  wanted: readonly SeedKey[],
  gone: readonly (Scope & { readonly keyId: KeyId })[],
): Promise<Seeded> {
  // All that can be refused is before anything is changed.
  const standing = await Promise.all(wanted.map(async (key) => ({ key, standing: await world.keys.key(key.keyId) })));
  for (const { key, standing: other } of standing) {
    if (other !== undefined && !isSameKey(other, key))
      throw new KeyRegistrationFault(`the key id ${key.keyId} is that of another key: a new secret needs a new keyId`);
  }
  const retired: KeyId[] = [];
  for (const { key, standing: one } of standing) {
    if (one === undefined) await put(world, key);
    else if (one.revokedAt !== undefined || one.replacedBy !== undefined) retired.push(key.keyId);
    else if (!hasSameTerms(one, key)) await world.keys.amendKey(key, key.keyId, termsOf(key));
  }
  for (const key of gone) await world.keys.revokeKey(key, key.keyId, world.clock.now());
  return { retired };
}

async function put({ keys, clock }: World, key: SeedKey): Promise<void> {
  if ((await keys.putKey({ ...key, createdAt: clock.now() })) === 'occupied')
    throw new KeyRegistrationFault(`the key id ${key.keyId} is that of another key: a new secret needs a new keyId`);
}

const isSameKey = (one: ApiKey, other: SeedKey): boolean =>
  one.secretHash === other.secretHash && one.projectId === other.projectId && one.environment === other.environment;

const termsOf = ({ scopes, expiresAt, rateLimitPerMinute }: KeyTerms): KeyTerms => ({
  scopes,
  ...(expiresAt === undefined ? {} : { expiresAt }),
  ...(rateLimitPerMinute === undefined ? {} : { rateLimitPerMinute }),
});

const hasSameTerms = (one: KeyTerms, other: KeyTerms): boolean => JSON.stringify(termsOf(one)) === JSON.stringify(termsOf(other));
