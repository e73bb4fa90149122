/** Idempotency keys as a caller gives them. */
import { parseIdempotencyKey } from '../api/idempotency.ts';
import type { CallOptions } from './send-request.ts';

export interface IdempotentCallOptions extends CallOptions {
  /** 1 to 255 printable characters: calls with the same one are one. Without one, see the method */
  readonly idempotencyKey?: string;
}

/** The service would read another as none, or as a different one. */
export const validateIdempotencyKey = (idempotencyKey: string): string => {
  if (parseIdempotencyKey(idempotencyKey) === idempotencyKey) return idempotencyKey;
  throw new TypeError('idempotencyKey must be 1 to 255 printable ASCII characters, without spaces or quotes around them');
};

export const idempotencyKeyOption = ({ idempotencyKey }: IdempotentCallOptions) =>
  idempotencyKey === undefined ? {} : { idempotencyKey: validateIdempotencyKey(idempotencyKey) };
