/** The setting `console`, checked against the other settings. */
import type * as z from 'zod';
import { type SignInKeySetting, consoleSetting, isLocalIssuer, signInKeysOf } from '../api/schemas/console-setting.ts';
import type { SeedKeySetting } from '../api/schemas/seed-keys.ts';

export type ConsoleSetting = z.input<typeof consoleSetting>;

export interface ParsedConsoleSetting {
  readonly setting: z.output<typeof consoleSetting>;
  readonly signInKeys: readonly SignInKeySetting[];
  readonly secretArns: readonly string[];
}

/** @param seedKeys the keys of the setting `seedKeys` */
export function parseConsoleSetting(
  given: ConsoleSetting = {},
  seedKeys: readonly SeedKeySetting[],
  requireHttps: boolean,
): ParsedConsoleSetting {
  const setting = consoleSetting.parse(given);
  const { oidc } = setting;
  if (requireHttps && oidc !== undefined && isLocalIssuer(oidc.issuer))
    throw new Error(
      'The setting console.oidc.issuer is on the loopback address, which in Lambda is the interface of the runtime. Name the provider by its public address.',
    );
  const signInKeys = signInKeysOf(setting);
  const both = signInKeys.find(({ keyId }) => seedKeys.some((key) => key.keyId === keyId));
  if (both !== undefined)
    throw new Error(
      `The setting console.oidc.grants has the keyId ${both.keyId} of the setting seedKeys. Choose another one: a key of a grant has no secret.`,
    );
  return { setting, signInKeys, secretArns: oidc?.clientSecretArn === undefined ? [] : [oidc.clientSecretArn] };
}
