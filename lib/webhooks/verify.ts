/** Verifies a webhook's signature by the scheme of its provider. */
import { type Instant, seconds } from '../engine/time.ts';
import type { ReceivedWebhook, VerificationResult } from './delivery.ts';
import { verifyGithub } from './github.ts';
import { verifyPlainHmac } from './plain-hmac.ts';
import type { WebhookProvider } from './provider.ts';
import { verifyStandardWebhook } from './standard-webhooks.ts';
import { verifyStripe } from './stripe.ts';

export function verify(
  provider: WebhookProvider,
  received: ReceivedWebhook,
  secrets: readonly string[],
  now: Instant,
): VerificationResult {
  switch (provider.scheme) {
    case 'standard-webhooks':
      return verifyStandardWebhook(received, secrets, { now, tolerance: seconds(provider.toleranceSeconds) });
    case 'stripe':
      return verifyStripe(received, secrets, { now, tolerance: seconds(provider.toleranceSeconds) });
    case 'github':
      return verifyGithub(received, secrets);
    case 'hmac-sha256':
      return verifyPlainHmac(received, secrets, provider);
  }
}
