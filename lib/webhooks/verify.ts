/** Verifies a webhook's signature by the scheme of its provider. */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { type Instant, type DurationMs, seconds, instant } from '../engine/time.ts';
import type { WebhookProvider } from './provider.ts';

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

export interface ReceivedWebhook {
  /** names in lower case */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** the exact bytes as sent, which the signature covers */
  readonly body: Uint8Array;
}

export type VerificationResult =
  /** `deliveryId`: the sender's id of this delivery, equal in its redeliveries */
  { readonly kind: 'verified'; readonly deliveryId: string } | { readonly kind: 'refused'; readonly why: VerificationFailure };

/**
 * `incomplete`: a part that the scheme needs is missing or invalid; `stale`: its time is too far from now, in either direction;
 * `mismatch`: no secret produces the signature.
 */
export type VerificationFailure = 'incomplete' | 'stale' | 'mismatch';

const refused = (why: VerificationFailure): VerificationResult => ({ kind: 'refused', why });

/** Printable, without spaces, at most as long as an idempotency key. */
const deliveryIdPattern = /^[\x21-\x7e]{1,255}$/;

const isDeliveryId = (text: unknown): text is string => typeof text === 'string' && deliveryIdPattern.test(text);

const standardSecretPrefix = 'whsec_';
/** The only version with a shared secret; `v1a` has key pairs. */
const standardVersion = 'v1,';

const keyOf = (secret: string): Uint8Array =>
  Buffer.from(secret.startsWith(standardSecretPrefix) ? secret.slice(standardSecretPrefix.length) : secret, 'base64');

/**
 * Standard Webhooks (standardwebhooks.com): headers `webhook-id`, `webhook-timestamp` and `webhook-signature`. The last contains
 * signatures separated by spaces, each `v1,<base64>` over `<id>.<timestamp>.<body>`. Secrets are `whsec_<base64>`.
 */
function verifyStandardWebhook(
  { headers, body }: ReceivedWebhook,
  secrets: readonly string[],
  terms: { readonly now: Instant; readonly tolerance: DurationMs },
): VerificationResult {
  const { 'webhook-id': id, 'webhook-timestamp': timestamp = '', 'webhook-signature': signature } = headers;
  const at = parseTimestamp(timestamp);
  if (!isDeliveryId(id) || at === undefined || signature === undefined) return refused('incomplete');
  if (!isWithinTolerance(at, terms.now, terms.tolerance)) return refused('stale');
  const sent = signature
    .split(' ')
    .flatMap((one) => (one.startsWith(standardVersion) ? [one.slice(standardVersion.length)] : []));
  const keys = secrets.map(keyOf).filter((key) => key.length > 0);
  const expected = keys.map((key) => signatureOf(key, [`${id}.${timestamp}.`, body], 'base64'));
  return matchesAny(sent, expected) ? { kind: 'verified', deliveryId: id } : refused('mismatch');
}

/**
 * Stripe: `Stripe-Signature: t=<seconds>,v1=<hex>[,v1=<hex>…]` over `<t>.<body>`. The delivery id is the event's id in the body.
 * The whole text of the secret is the key, including `whsec_`.
 */
function verifyStripe(
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

const githubAlgorithm = 'sha256=';

/**
 * GitHub: `X-Hub-Signature-256: sha256=<hex>` over the body. The id in `X-GitHub-Delivery` is not signed, and there is no
 * timestamp: a person who intercepts a delivery could replay it under another id.
 */
function verifyGithub({ headers, body }: ReceivedWebhook, secrets: readonly string[]): VerificationResult {
  const { 'x-hub-signature-256': signature = '', 'x-github-delivery': id } = headers;
  if (!signature.startsWith(githubAlgorithm) || !isDeliveryId(id)) return refused('incomplete');
  const expected = secrets.map((secret) => signatureOf(secret, [body], 'hex'));
  return matchesAny([signature.slice(githubAlgorithm.length)], expected)
    ? { kind: 'verified', deliveryId: id }
    : refused('mismatch');
}

interface PlainHmac {
  /** the header with the signature, in lower case */
  readonly header: string;
  readonly encoding: Encoding;
  /** the text before the signature in the header, such as `sha256=` */
  readonly prefix: string;
  /** a header with the delivery's id; absent: deliveries with equal bodies are one delivery */
  readonly idHeader?: string;
}

/** Senders that put an HMAC-SHA256 of the body into a custom header, in hex or base64. */
function verifyPlainHmac({ headers, body }: ReceivedWebhook, secrets: readonly string[], scheme: PlainHmac): VerificationResult {
  const { header, encoding, prefix, idHeader } = scheme;
  const value = headers[header] ?? '';
  const id = idHeader === undefined ? createHash('sha256').update(body).digest('hex') : headers[idHeader];
  if (value === '' || !value.startsWith(prefix) || !isDeliveryId(id)) return refused('incomplete');
  const sent = value.slice(prefix.length);
  const expected = secrets.map((secret) => signatureOf(secret, [body], encoding));
  // Hex digits may be in upper or lower case.
  const isSame = matchesAny([encoding === 'hex' ? sent.toLowerCase() : sent], expected);
  return isSame ? { kind: 'verified', deliveryId: id } : refused('mismatch');
}

type Encoding = 'hex' | 'base64';

/** The HMAC-SHA256 signature over the concatenation of these parts. */
function signatureOf(secret: string | Uint8Array, parts: readonly (string | Uint8Array)[], encoding: Encoding): string {
  const hmac = createHmac('sha256', secret);
  for (const part of parts) hmac.update(part);
  return hmac.digest(encoding);
}

/** Compares the encoded texts: one byte sequence can have several encodings, and a sender uses one. */
function isEqualConstantTime(one: string, other: string): boolean {
  const [left, right] = [Buffer.from(one), Buffer.from(other)];
  return left.length === right.length && timingSafeEqual(left, right);
}

/** Whether a sent signature equals an expected one. Compares every pair, so the time does not depend on the match. */
const matchesAny = (sent: readonly string[], expected: readonly string[]): boolean =>
  sent.flatMap((one) => expected.map((other) => isEqualConstantTime(one, other))).includes(true);

const msPerSecond = 1_000;

/** The signed time of a delivery, in whole epoch seconds; undefined if the text is not such a number. The text was signed, so only its canonical spelling is accepted. */
const parseTimestamp = (text: string): Instant | undefined =>
  /^(0|[1-9]\d{0,11})$/.test(text) ? instant(Number(text) * msPerSecond) : undefined;

/** An old delivery may be a replay; one from the future could be replayed for long. */
const isWithinTolerance = (at: Instant, now: Instant, tolerance: DurationMs): boolean => Math.abs(now - at) <= tolerance;
