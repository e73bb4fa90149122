/**
 * How many bytes DynamoDB counts for an item: the names and the values of its attributes. From
 * https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html
 * (the 100 bytes that storage adds to each item are not part of what reads and writes are billed by).
 */
import * as z from 'zod';

/** An attribute's value as it travels: one type letter and what it holds. */
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

/** A list or a map has this much around it, and so much again for each of its elements. */
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

/** A byte for two significant digits and one more; another for a sign, which the guide leaves out and measurements show. */
function numberBytes(text: string): number {
  const [mantissa = ''] = text.replace(/^[+-]/, '').split(/[eE]/);
  const [whole = '', fraction = ''] = mantissa.split('.');
  // trailing zeros are trimmed on both sides of the point, and the point itself is not stored
  const digits = `${whole}${fraction}`.replace(/^0+/, '').replace(/0+$/, '');
  return Math.ceil(digits.length / 2) + 1 + (text.startsWith('-') ? 1 : 0);
}
