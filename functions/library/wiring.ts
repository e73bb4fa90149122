/** Wires the sign-in with an identity provider: the setting `console`, the client's secret, and the provider over HTTP. */
import { secretsClient } from '../../lib/aws/clients.ts';
import { ManagedSecrets } from '../../lib/aws/secrets.ts';
import { deployedSettings } from '../../lib/api/schemas/installation.ts';
import { type OidcSetting, consoleSetting } from '../../lib/api/schemas/console-setting.ts';
import { defined } from '../../lib/base/defined.ts';
import { keyId } from '../../lib/engine/ids.ts';
import { OidcProvider } from '../../lib/oidc/provider.ts';
import type { Clock } from '../../lib/ports/clock.ts';
import { Unavailable } from '../../lib/ports/unavailable.ts';
import type { ProviderSignIn } from '../../lib/service/access/provider-sign-in.ts';
import { SecretCache } from '../../lib/service/access/secret-cache.ts';
import { storedSetting } from '../settings-wiring.ts';
import type { InstallationTools } from '../api/operations/installation.ts';

/** The function reads the setting at the first sign-in. It keeps one provider, with the discovered endpoints and keys, as long as it lives. */
export function signInOf(clock: Pick<Clock, 'now'>): () => Promise<ProviderSignIn | undefined> {
  const setting = storedSetting('console', consoleSetting);
  let made: ProviderSignIn | undefined;
  return async () => {
    const { oidc } = await setting();
    if (oidc === undefined) return undefined;
    return (made ??= makeSignIn(oidc, clock));
  };
}

function makeSignIn(oidc: OidcSetting, clock: Pick<Clock, 'now'>): ProviderSignIn {
  const { issuer, clientId, clientSecretArn, scope, claim, subjectClaim, grants } = oidc;
  const clientSecret = clientSecretArn === undefined ? undefined : secretIn(clientSecretArn, clock);
  return {
    provider: new OidcProvider(defined({ issuer, clientId, clientSecret, now: () => clock.now() })),
    rules: { claim, subjectClaim, grants: grants.map((grant) => ({ value: grant.value, keyId: keyId(grant.keyId) })) },
    clientId,
    scope,
  };
}

function secretIn(arn: string, clock: Pick<Clock, 'now'>): () => Promise<string> {
  const secrets = new SecretCache(new ManagedSecrets(secretsClient()), clock);
  return async () => {
    const text = await secrets.text(arn);
    if (text === undefined)
      throw new Unavailable('the secret of the console', { cause: new Error(`the secret ${arn} has no text`) });
    return text.trim();
  };
}

export const thisInstallation = (): InstallationTools['installation'] => ({
  region: process.env['AWS_REGION'] ?? '',
  settings: storedSetting('deployed', deployedSettings),
});
