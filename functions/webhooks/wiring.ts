/** Where the webhooks' function finds its providers and their secrets. */
import { settingsFrom } from '../../lib/aws/environment.ts';
import { secretsClient } from '../../lib/aws/clients.ts';
import { ManagedSecrets } from '../../lib/aws/secrets.ts';
import type { Clock } from '../../lib/ports/clock.ts';
import { KeptSecrets } from '../../lib/service/kept-secrets.ts';
import { WebhookSecrets } from '../../lib/service/webhook-secrets.ts';
import { type WebhookProviders, webhookProviders } from '../../lib/webhooks/provider.ts';

export const webhookSecretsOf = (clock: Clock): WebhookSecrets =>
  new WebhookSecrets(new KeptSecrets(new ManagedSecrets(secretsClient()), clock));

/** As the stacks told them, read once. */
export function providersTold(): () => WebhookProviders {
  let known: WebhookProviders | undefined;
  return () => (known ??= webhookProviders.parse(JSON.parse(settingsFrom(process.env).webhooks)));
}
