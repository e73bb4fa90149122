/**
 * GitHub: `X-Hub-Signature-256: sha256=<hex>` over the body. The id in `X-GitHub-Delivery` is not signed, and there is no
 * timestamp: a person who intercepts a delivery could replay it under another id.
 */
import { type ReceivedWebhook, type VerificationResult, isDeliveryId, refused } from './delivery.ts';
import { matchesAny, signatureOf } from './signature.ts';

const algorithm = 'sha256=';

export function verifyGithub({ headers, body }: ReceivedWebhook, secrets: readonly string[]): VerificationResult {
  const { 'x-hub-signature-256': signature = '', 'x-github-delivery': id } = headers;
  if (!signature.startsWith(algorithm) || !isDeliveryId(id)) return refused('incomplete');
  const expected = secrets.map((secret) => signatureOf(secret, [body], 'hex'));
  return matchesAny([signature.slice(algorithm.length)], expected) ? { kind: 'verified', deliveryId: id } : refused('mismatch');
}
