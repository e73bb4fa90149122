/** What one item of the table can hold. */
import { pack } from '../../codec/packed.ts';

/** Compressed. An item holds 400 KB; attributes and keys need some. */
const mostBytes = 380_000;
/** Text that is shorter need not be packed to know that it fits. */
export const surelyFits = 100_000;

/**
 * The value, where an item can hold it.
 * @param what as the error calls it
 * @throws RangeError where it cannot
 */
export function fitting<Value>(what: string, value: Value): Value {
  if (JSON.stringify(value).length <= surelyFits) return value;
  const packed = pack(value);
  const bytes = 'text' in packed ? Buffer.byteLength(packed.text) : packed.gzip.length;
  if (bytes > mostBytes) throw new RangeError(`${what}: ${bytes} bytes compressed, and at most ${mostBytes} can be kept`);
  return value;
}
