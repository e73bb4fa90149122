/** HMAC-SHA256 for all schemes, with a constant-time comparison. */
import { createHmac, timingSafeEqual } from 'node:crypto';

export type Encoding = 'hex' | 'base64';

/** The signature over the concatenation of these parts. */
export function signatureOf(secret: string | Uint8Array, parts: readonly (string | Uint8Array)[], encoding: Encoding): string {
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
export const matchesAny = (sent: readonly string[], expected: readonly string[]): boolean =>
  sent.flatMap((one) => expected.map((other) => isEqualConstantTime(one, other))).includes(true);
