/**
 * The size of an item in bytes, as DynamoDB counts it: names and values of its attributes. From
 * https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html
 * (reads and writes are billed without the 100 bytes that storage adds to each item).
 */
import * as z from 'zod';

/** An attribute value in the wire format: a type letter and the value. */
type WireValue =
  | { readonly S: string }
  | { readonly N: string }
  /** base64 */
  | { readonly B: string }
  | { readonly BOOL: boolean }
  | { readonly NULL: boolean }
  | { readonly L: readonly WireValue[] }
  | { readonly M: WireItem };
export type WireItem = { readonly [name: string]: WireValue };

const wireValue: z.ZodType<WireValue> = z.lazy(() =>
  z.union([
    z.strictObject({ S: z.string() }),
    z.strictObject({ N: z.string() }),
    z.strictObject({ B: z.string() }),
    z.strictObject({ BOOL: z.boolean() }),
    z.strictObject({ NULL: z.boolean() }),
    z.strictObject({ L: z.array(wireValue) }),
    z.strictObject({ M: wireItem }),
  ]),
);
export const wireItem: z.ZodType<WireItem> = z.record(z.string(), wireValue);

/** Overhead of a list or a map, and of each element. */
const containerBytes = 3;
const elementBytes = 1;

export const itemBytes = (item: WireItem): number =>
  Object.entries(item).reduce((sum, [name, value]) => sum + Buffer.byteLength(name) + valueBytes(value), 0);

function valueBytes(value: WireValue): number {
  if ('S' in value) return Buffer.byteLength(value.S);
  if ('N' in value) return numberBytes(value.N);
  if ('B' in value) return Buffer.byteLength(value.B, 'base64');
  if ('L' in value) return value.L.reduce((sum, one) => sum + valueBytes(one) + elementBytes, containerBytes);
  if ('M' in value) return containerBytes + itemBytes(value.M) + elementBytes * Object.keys(value.M).length;
  return 1;
}

/** One byte per two significant digits plus one; one more for a negative sign, which only measurements show. */
function numberBytes(text: string): number {
  const [mantissa = ''] = text.replace(/^[+-]/, '').split(/[eE]/);
  const [whole = '', fraction = ''] = mantissa.split('.');
  // Leading and trailing zeros and the decimal point are not stored.
  const digits = `${whole}${fraction}`.replace(/^0+/, '').replace(/0+$/, '');
  return Math.ceil(digits.length / 2) + 1 + (text.startsWith('-') ? 1 : 0);
}
