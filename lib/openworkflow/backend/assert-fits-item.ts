/** What one item of the table can hold. */
import { pack } from '../../codec/packed.ts';

/** Compressed. An item holds 400 KB; attributes and keys need some. */
const maxBytes = 380_000;
/** Text that is shorter need not be packed to know that it fits. */
export const alwaysFitsLength = 100_000;

/**
 * The value, where an item can hold it.
 * @param what as the error calls it
 * @throws RangeError where it cannot
 */
export function assertFitsItem<Value>(what: string, value: Value): Value {
  if (JSON.stringify(value).length <= alwaysFitsLength) return value;
  const packed = pack(value);
  const bytes = 'text' in packed ? Buffer.byteLength(packed.text) : packed.gzip.length;
  if (bytes > maxBytes) throw new RangeError(`${what}: ${bytes} bytes compressed, and at most ${maxBytes} can be kept`);
  return value;
}
