/** HMAC-SHA256 as all the schemes use it, and a comparison that tells nothing by the time it takes. */
import { createHmac, timingSafeEqual } from 'node:crypto';

export type Encoding = 'hex' | 'base64';

/** The signature of these parts, one after the other. */
export function signatureOf(secret: string | Uint8Array, parts: readonly (string | Uint8Array)[], encoding: Encoding): string {
  const hmac = createHmac('sha256', secret);
  for (const part of parts) hmac.update(part);
  return hmac.digest(encoding);
}

/** Compared as text: an encoding can spell the same bytes in several ways, and a sender has only one. */
function isEqualConstantTime(one: string, other: string): boolean {
  const [left, right] = [Buffer.from(one), Buffer.from(other)];
  return left.length === right.length && timingSafeEqual(left, right);
}

/** Whether one of the signatures that were sent is one that was expected. Every pair is looked at, whichever fits. */
export const matchesAny = (sent: readonly string[], expected: readonly string[]): boolean =>
  sent.flatMap((one) => expected.map((other) => isEqualConstantTime(one, other))).includes(true);
