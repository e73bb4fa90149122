/** Wires the webhooks function to its configured providers and their secrets. */
import { functionClient, secretsClient } from '../../lib/aws/clients.ts';
import { CodeFunction } from '../../lib/aws/code-function.ts';
import { settingsFrom } from '../../lib/aws/environment.ts';
import { ManagedSecrets } from '../../lib/aws/secrets.ts';
import type { Clock } from '../../lib/ports/clock.ts';
import type { WebhookCalls } from '../../lib/ports/devkit.ts';
import { SecretCache } from '../../lib/service/access/secret-cache.ts';
import { WebhookSecrets } from '../../lib/service/access/webhook-secrets.ts';
import { type WebhookProviders, webhookProviders } from '../../lib/webhooks/provider.ts';
import { storedSetting } from '../settings-wiring.ts';

export const webhookSecretsOf = (clock: Clock): WebhookSecrets =>
  new WebhookSecrets(new SecretCache(new ManagedSecrets(secretsClient()), clock));

export const createProvidersReader = (): (() => Promise<WebhookProviders>) => storedSetting('webhooks', webhookProviders);

/** Undefined where the installation runs no deployed code. */
export function codeFunction(): WebhookCalls | undefined {
  const name = settingsFrom(process.env).codeFunction;
  return name === undefined ? undefined : new CodeFunction(functionClient(), name);
}
