/** Wires the webhooks function to its configured providers and their secrets. */
import { secretsClient } from '../../lib/aws/clients.ts';
import { ManagedSecrets } from '../../lib/aws/secrets.ts';
import type { Clock } from '../../lib/ports/clock.ts';
import { SecretCache } from '../../lib/service/access/secret-cache.ts';
import { WebhookSecrets } from '../../lib/service/access/webhook-secrets.ts';
import { type WebhookProviders, webhookProviders } from '../../lib/webhooks/provider.ts';
import { storedSetting } from '../settings-wiring.ts';

export const webhookSecretsOf = (clock: Clock): WebhookSecrets =>
  new WebhookSecrets(new SecretCache(new ManagedSecrets(secretsClient()), clock));

export const createProvidersReader = (): (() => Promise<WebhookProviders>) => storedSetting('webhooks', webhookProviders);
