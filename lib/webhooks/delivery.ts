/** A webhook as it came over the wire, and what a verifier says of it. */

export interface ReceivedWebhook {
  /** names in lower case */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** exactly as sent: a signature is over these bytes and no others */
  readonly body: Uint8Array;
}

export type VerificationResult =
  /** `deliveryId`: the sender's own name for this delivery, the same one when it sends it again */
  { readonly kind: 'verified'; readonly deliveryId: string } | { readonly kind: 'refused'; readonly why: VerificationFailure };

/**
 * `incomplete`: what the scheme needs is missing or cannot be read; `stale`: its time is too far from now, either way;
 * `mismatch`: no secret gives that signature.
 */
export type VerificationFailure = 'incomplete' | 'stale' | 'mismatch';

export const refused = (why: VerificationFailure): VerificationResult => ({ kind: 'refused', why });

/** Printable, without spaces, and as long as an idempotency key may be. */
const deliveryIdPattern = /^[\x21-\x7e]{1,255}$/;

export const isDeliveryId = (text: unknown): text is string => typeof text === 'string' && deliveryIdPattern.test(text);
