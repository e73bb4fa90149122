/** Makes the first key and registers those of the configuration, as CloudFormation asks for it. */
import { randomBytes } from 'node:crypto';
import { newKey, parseKey } from '../../lib/api/auth/key-format.ts';
import type { FirstKeySetting, SeedKeySetting } from '../../lib/api/schemas/seed-keys.ts';
import { type KeyId, type Scope, environment, keyId, projectId } from '../../lib/engine/ids.ts';
import { instant } from '../../lib/engine/time.ts';
import type { Clock } from '../../lib/ports/clock.ts';
import type { Keys } from '../../lib/ports/control.ts';
import type { RunIndex } from '../../lib/ports/run-index.ts';
import type { Secrets } from '../../lib/ports/secrets.ts';
import type { StoredSettings } from '../../lib/ports/stored-settings.ts';
import { KeyRegistrationFault, type SeedKey, makeFirstKey, seedKeys } from '../../lib/service/register-keys.ts';
import type { KeyProperties } from './event.ts';

export interface Keeper {
  readonly keys: Keys;
  readonly clock: Clock;
  readonly secrets: Secrets;
  readonly index: RunIndex;
  readonly settings: StoredSettings;
}

/** For the log: ids of keys, and nothing else of them. */
export interface Kept {
  readonly firstKeyId: KeyId;
  readonly isNew: boolean;
  readonly revoked: readonly KeyId[];
  readonly retired: readonly KeyId[];
}

/** @param before the list of the configuration as it was when this was last asked */
export async function keepKeys(
  keeper: Keeper,
  { SecretArn: secretArn, FirstKey, SeedKeys }: KeyProperties,
  before: readonly SeedKeySetting[],
): Promise<Kept> {
  const wanted = await Promise.all(SeedKeys.map((key) => seedOf(keeper.secrets, key)));
  const scope = scopeOf(FirstKey);
  const first = await makeFirstKey(
    keeper,
    { secretArn, scope, ...rateOf(FirstKey) },
    { mint: () => newKey(scope.environment, randomBytes), parse: parseKey },
  );
  const gone = before
    .filter((old) => SeedKeys.every((key) => key.keyId !== old.keyId))
    .map((old) => ({ ...scopeOf(old), keyId: keyId(old.keyId) }));
  const { retired } = await seedKeys(keeper, wanted, gone);
  return { firstKeyId: first.keyId, isNew: first.isNew, revoked: gone.map((key) => key.keyId), retired };
}

const scopeOf = (of: Pick<FirstKeySetting, 'projectId' | 'environment'>): Scope => ({
  projectId: projectId(of.projectId),
  environment: environment(of.environment),
});

const rateOf = ({ rateLimitPerMinute: rate }: Pick<FirstKeySetting, 'rateLimitPerMinute'>) =>
  rate === undefined ? {} : { rateLimitPerMinute: rate === 'none' ? null : rate };

async function seedOf(secrets: Secrets, setting: SeedKeySetting): Promise<SeedKey> {
  const { expiresAt, scopes } = setting;
  return {
    keyId: keyId(setting.keyId),
    ...scopeOf(setting),
    scopes,
    secretHash: setting.sha256 ?? (await hashIn(secrets, setting)),
    ...(expiresAt === undefined ? {} : { expiresAt: instant(Date.parse(expiresAt)) }),
    ...rateOf(setting),
  };
}

/** The digest of the key that the secret holds, which must be the one of the configuration. */
async function hashIn(secrets: Secrets, setting: SeedKeySetting): Promise<string> {
  const { secretArn = '' } = setting;
  const text = await secrets.value(secretArn);
  if (text === undefined) throw new KeyRegistrationFault(`the secret ${secretArn} has no text`);
  const presented = parseKey(text.trim());
  if (presented === undefined) throw new KeyRegistrationFault(`the secret ${secretArn} holds something that is no key`);
  if (presented.keyId !== setting.keyId || presented.environment !== setting.environment)
    throw new KeyRegistrationFault(`the secret ${secretArn} holds another key than ${setting.keyId} of ${setting.environment}`);
  return presented.secretHash;
}
