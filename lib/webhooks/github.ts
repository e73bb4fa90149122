/**
 * GitHub: `X-Hub-Signature-256: sha256=<hex>` over the body. The id in `X-GitHub-Delivery` is not signed, and there is no
 * time: whoever could read a delivery on its way could send it again under another id.
 */
import { type Received, type Verdict, isDeliveryId, refused } from './delivery.ts';
import { isAnySame, signatureOf } from './signature.ts';

const algorithm = 'sha256=';

export function verifyGithub({ headers, body }: Received, secrets: readonly string[]): Verdict {
  const { 'x-hub-signature-256': signature = '', 'x-github-delivery': id } = headers;
  if (!signature.startsWith(algorithm) || !isDeliveryId(id)) return refused('incomplete');
  const expected = secrets.map((secret) => signatureOf(secret, [body], 'hex'));
  return isAnySame([signature.slice(algorithm.length)], expected) ? { kind: 'verified', deliveryId: id } : refused('mismatch');
}
