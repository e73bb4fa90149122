/** Validates the idempotency keys of callers. */
import { parseIdempotencyKey } from '../api/idempotency.ts';
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
