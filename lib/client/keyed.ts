/** Idempotency keys as a caller gives them. */
import { idempotencyKeyIn } from '../api/idempotency.ts';
import type { CallOptions } from './ask.ts';

export interface KeyedOptions extends CallOptions {
  /** 1 to 255 printable characters: calls with the same one are one. Without one, see the method */
  readonly idempotencyKey?: string;
}

/** The service would read another as none, or as a different one. */
export const checkedKey = (idempotencyKey: string): string => {
  if (idempotencyKeyIn(idempotencyKey) === idempotencyKey) return idempotencyKey;
  throw new TypeError('idempotencyKey must be 1 to 255 printable ASCII characters, without spaces or quotes around them');
};

export const keyOf = ({ idempotencyKey }: KeyedOptions) =>
  idempotencyKey === undefined ? {} : { idempotencyKey: checkedKey(idempotencyKey) };
