/**
 * Standard Webhooks (standardwebhooks.com): headers `webhook-id`, `webhook-timestamp` and `webhook-signature`. The last contains
 * signatures separated by spaces, each `v1,<base64>` over `<id>.<timestamp>.<body>`. Secrets are `whsec_<base64>`.
 */
import type { DurationMs, Instant } from '../engine/time.ts';
import { type ReceivedWebhook, type VerificationResult, isDeliveryId, refused } from './delivery.ts';
import { matchesAny, signatureOf } from './signature.ts';
import { isWithinTolerance, parseTimestamp } from './timestamp.ts';

const secretPrefix = 'whsec_';
/** The only version with a shared secret; `v1a` has key pairs. */
const version = 'v1,';

const keyOf = (secret: string): Uint8Array =>
  Buffer.from(secret.startsWith(secretPrefix) ? secret.slice(secretPrefix.length) : secret, 'base64');

export function verifyStandardWebhook(
  { headers, body }: ReceivedWebhook,
  secrets: readonly string[],
  terms: { readonly now: Instant; readonly tolerance: DurationMs },
): VerificationResult {
  const { 'webhook-id': id, 'webhook-timestamp': timestamp = '', 'webhook-signature': signature } = headers;
  const at = parseTimestamp(timestamp);
  if (!isDeliveryId(id) || at === undefined || signature === undefined) return refused('incomplete');
  if (!isWithinTolerance(at, terms.now, terms.tolerance)) return refused('stale');
  const sent = signature.split(' ').flatMap((one) => (one.startsWith(version) ? [one.slice(version.length)] : []));
  const keys = secrets.map(keyOf).filter((key) => key.length > 0);
  const expected = keys.map((key) => signatureOf(key, [`${id}.${timestamp}.`, body], 'base64'));
  return matchesAny(sent, expected) ? { kind: 'verified', deliveryId: id } : refused('mismatch');
}
