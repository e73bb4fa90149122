/** A received webhook, and the result of its verification. */

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

export const refused = (why: VerificationFailure): VerificationResult => ({ kind: 'refused', why });

/** Printable, without spaces, at most as long as an idempotency key. */
const deliveryIdPattern = /^[\x21-\x7e]{1,255}$/;

export const isDeliveryId = (text: unknown): text is string => typeof text === 'string' && deliveryIdPattern.test(text);
