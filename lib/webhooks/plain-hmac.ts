/** Senders that put an HMAC-SHA256 of the body into a custom header, in hex or base64. */
import { createHash } from 'node:crypto';
import { type ReceivedWebhook, type VerificationResult, isDeliveryId, refused } from './delivery.ts';
import { type Encoding, matchesAny, signatureOf } from './signature.ts';

export interface PlainHmac {
  /** the header with the signature, in lower case */
  readonly header: string;
  readonly encoding: Encoding;
  /** the text before the signature in the header, such as `sha256=` */
  readonly prefix: string;
  /** a header with the delivery's id; absent: deliveries with equal bodies are one delivery */
  readonly idHeader?: string;
}

export function verifyPlainHmac(
  { headers, body }: ReceivedWebhook,
  secrets: readonly string[],
  scheme: PlainHmac,
): VerificationResult {
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
