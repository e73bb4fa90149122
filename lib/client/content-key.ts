/** An idempotency key that follows from what is asked for. */
import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import type { JsonValue } from '../engine/json.ts';

/**
 * SHA-256, in hex, of `<workflowName>|<input in canonical JSON, RFC 8785>` in UTF-8: the order of keys does not matter,
 * that of arrays does, undefined keys are left away. Equal content is one run for as long as the service keeps keys (24 h);
 * to run it again on purpose, start it without this key.
 */
export const contentKey = (workflowName: string, input: JsonValue): string => {
  const json = canonicalize(input);
  if (json === undefined) throw new TypeError('input must be JSON');
  return createHash('sha256').update(`${workflowName}|${json}`).digest('hex');
};
