/**
 * Stripe: `Stripe-Signature: t=<seconds>,v1=<hex>[,v1=<hex>…]` over `<t>.<body>`. The delivery id is the event's id in the body.
 * The whole text of the secret is the key, including `whsec_`.
 */
import type { DurationMs, Instant } from '../engine/time.ts';
import { type ReceivedWebhook, type VerificationResult, isDeliveryId, refused } from './delivery.ts';
import { matchesAny, signatureOf } from './signature.ts';
import { isWithinTolerance, parseTimestamp } from './timestamp.ts';

export function verifyStripe(
  { headers, body }: ReceivedWebhook,
  secrets: readonly string[],
  terms: { readonly now: Instant; readonly tolerance: DurationMs },
): VerificationResult {
  const items = (headers['stripe-signature'] ?? '').split(',').map((item) => item.trim());
  const valuesOf = (name: string) => items.flatMap((item) => (item.startsWith(`${name}=`) ? [item.slice(name.length + 1)] : []));
  const [timestamp = '', ...more] = valuesOf('t');
  const sent = valuesOf('v1');
  const at = parseTimestamp(timestamp);
  if (at === undefined || more.length > 0 || sent.length === 0) return refused('incomplete');
  if (!isWithinTolerance(at, terms.now, terms.tolerance)) return refused('stale');
  const expected = secrets.map((secret) => signatureOf(secret, [`${timestamp}.`, body], 'hex'));
  if (!matchesAny(sent, expected)) return refused('mismatch');
  const id = eventIdIn(body);
  return id === undefined ? refused('incomplete') : { kind: 'verified', deliveryId: id };
}

/** Parses the body only after its signature is verified. */
function eventIdIn(body: Uint8Array): string | undefined {
  try {
    const event: unknown = JSON.parse(Buffer.from(body).toString('utf8'));
    const id = typeof event === 'object' && event !== null && 'id' in event ? event.id : undefined;
    return isDeliveryId(id) ? id : undefined;
  } catch {
    return undefined;
  }
}
