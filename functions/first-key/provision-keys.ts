/** Creates the first admin key and registers the configured keys. */
import { defined } from '../../lib/base/defined.ts';
import { randomBytes } from 'node:crypto';
import { newKey, parseKey } from '../../lib/api/auth.ts';
import type { SignInKeySetting } from '../../lib/api/schemas/console-setting.ts';
import type { FirstKeySetting, SeedKeySetting } from '../../lib/api/schemas/seed-keys.ts';
import { type KeyId, type Scope, environment, keyId, projectId } from '../../lib/engine/ids.ts';
import { instant } from '../../lib/engine/time.ts';
import type { Clock } from '../../lib/ports/clock.ts';
import type { Keys } from '../../lib/ports/control.ts';
import type { RunIndex } from '../../lib/ports/run-index.ts';
import type { Secrets } from '../../lib/ports/secrets.ts';
import type { StoredSettings } from '../../lib/ports/stored-settings.ts';
import { digestOfNoSecret } from '../../lib/service/access/create-key.ts';
import { KeyRegistrationError, type SeedKey, createFirstKey, seedKeys } from '../../lib/service/access/register-keys.ts';
import type { KeyProperties } from './handle-resource-event.ts';

export interface KeyProvisioningPorts {
  readonly keys: Keys;
  readonly clock: Clock;
  readonly secrets: Secrets;
  readonly index: RunIndex;
  readonly settings: StoredSettings;
}

/** For the log: key ids only. */
export interface ProvisionedKeys {
  readonly firstKeyId: KeyId;
  readonly isNew: boolean;
  readonly revoked: readonly KeyId[];
  readonly retired: readonly KeyId[];
}

/** The keys that settings of a deployment name. */
interface ConfiguredKeys {
  readonly SeedKeys: readonly SeedKeySetting[];
  readonly SignInKeys: readonly SignInKeySetting[];
}

/** @param previous the keys of the previous deployment */
export async function provisionKeys(
  ports: KeyProvisioningPorts,
  { SecretArn: secretArn, FirstKey, SeedKeys, SignInKeys, ApplicationKeys }: KeyProperties,
  previous: ConfiguredKeys,
): Promise<ProvisionedKeys> {
  const requestedKeys = [
    ...(await Promise.all(SeedKeys.map((key) => seedOf(ports.secrets, key)))),
    ...SignInKeys.map(({ scopes, ...key }): SeedKey => ({
      keyId: keyId(key.keyId),
      ...scopeOf(key),
      scopes,
      secretHash: digestOfNoSecret,
    })),
  ];
  const scope = scopeOf(FirstKey);
  const format = { mint: () => newKey(scope.environment, randomBytes), parse: parseKey };
  const first = await createFirstKey(ports, { secretArn, scope, ...rateOf(FirstKey) }, format);
  // They belong to the project of the first key.
  for (const key of ApplicationKeys) await createFirstKey(ports, { ...key, scope }, format);
  const removedKeys = [...previous.SeedKeys, ...previous.SignInKeys]
    .filter((old) => requestedKeys.every((key) => key.keyId !== old.keyId))
    .map((old) => ({ ...scopeOf(old), keyId: keyId(old.keyId) }));
  const { retired } = await seedKeys(ports, requestedKeys, removedKeys);
  return { firstKeyId: first.keyId, isNew: first.isNew, revoked: removedKeys.map((key) => key.keyId), retired };
}

const scopeOf = (of: Pick<FirstKeySetting, 'projectId' | 'environment'>): Scope => ({
  projectId: projectId(of.projectId),
  environment: environment(of.environment),
});

const rateOf = ({ rateLimitPerMinute: rate }: Pick<FirstKeySetting, 'rateLimitPerMinute'>) =>
  rate === undefined ? {} : { rateLimitPerMinute: rate === 'none' ? null : rate };

async function seedOf(secrets: Secrets, setting: SeedKeySetting): Promise<SeedKey> {
  const { expiresAt, scopes } = setting;
  return defined({
    keyId: keyId(setting.keyId),
    ...scopeOf(setting),
    scopes,
    secretHash: setting.sha256 ?? (await hashIn(secrets, setting)),
    expiresAt: expiresAt === undefined ? undefined : instant(Date.parse(expiresAt)),
    ...rateOf(setting),
  });
}

/** The digest of the key in the secret. The key must match the configured keyId and environment. */
async function hashIn(secrets: Secrets, setting: SeedKeySetting): Promise<string> {
  const { secretArn = '' } = setting;
  const text = await secrets.value(secretArn);
  if (text === undefined) throw new KeyRegistrationError(`the secret ${secretArn} has no text`);
  const presented = parseKey(text.trim());
  if (presented === undefined) throw new KeyRegistrationError(`the secret ${secretArn} does not contain an API key`);
  if (presented.keyId !== setting.keyId || presented.environment !== setting.environment)
    throw new KeyRegistrationError(
      `the secret ${secretArn} contains another key than ${setting.keyId} of ${setting.environment}`,
    );
  return presented.secretHash;
}
