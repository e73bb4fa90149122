/** Idempotency keys: those that callers give, and keys derived from the workflow and the input. */
import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import { parseIdempotencyKey } from '../api/idempotency.ts';
import type { JsonValue } from '../engine/json.ts';
import type { CallOptions } from './send-request.ts';

export interface IdempotentCallOptions extends CallOptions {
  /** 1 to 255 printable characters; calls with the same key have one effect. The method describes the default */
  readonly idempotencyKey?: string;
}

/** Refuses a key that the service would reject or parse differently. */
export const validateIdempotencyKey = (idempotencyKey: string): string => {
  if (parseIdempotencyKey(idempotencyKey) === idempotencyKey) return idempotencyKey;
  throw new TypeError('idempotencyKey must be 1 to 255 printable ASCII characters, without spaces or quotes around them');
};

export const idempotencyKeyOption = ({ idempotencyKey }: IdempotentCallOptions) =>
  idempotencyKey === undefined ? {} : { idempotencyKey: validateIdempotencyKey(idempotencyKey) };

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
