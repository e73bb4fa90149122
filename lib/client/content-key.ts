/** An idempotency key derived from the workflow and the input. */
import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import type { JsonValue } from '../engine/json.ts';

/**
 * SHA-256 (hex) of `<workflowName>|<input in canonical JSON, RFC 8785>` in UTF-8. The order of keys does not matter, the order
 * of arrays does, and undefined keys are omitted. Equal content starts one run while the service stores keys (24 h).
 * To start it again on purpose, omit this key.
 */
export const contentKey = (workflowName: string, input: JsonValue): string => {
  const json = canonicalize(input);
  if (json === undefined) throw new TypeError('input must be JSON');
  return createHash('sha256').update(`${workflowName}|${json}`).digest('hex');
};
