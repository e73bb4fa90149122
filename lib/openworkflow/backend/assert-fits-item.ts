/** Checks that a value fits into one DynamoDB item. */
import { pack, packedBytes } from '../../codec/packed.ts';

/** Compressed. An item holds 400 KB; attributes and keys need some. */
const maxBytes = 380_000;
/** A shorter text fits even without compression. */
export const alwaysFitsLength = 100_000;

/**
 * Returns the value if it fits into one item.
 * @param what the value's name in the error
 * @throws RangeError where it is too large
 */
export function assertFitsItem<Value>(what: string, value: Value): Value {
  if (JSON.stringify(value).length <= alwaysFitsLength) return value;
  const bytes = packedBytes(pack(value));
  if (bytes > maxBytes) throw new RangeError(`${what}: ${bytes} bytes compressed are more than the maximum of ${maxBytes}`);
  return value;
}
