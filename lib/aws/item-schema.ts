/** Writes and reads item attributes. Only strings, numbers and binary values are used. */
import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import * as z from 'zod';
import { instant } from '../codec/ids.ts';
import { type Packed, pack } from '../codec/packed.ts';

export type Item = Record<string, AttributeValue>;

export const text = (value: string): AttributeValue => ({ S: value });
export const number = (value: number): AttributeValue => ({ N: String(value) });
/** JSON in one attribute: a string if it is small, else compressed bytes. */
export const packed = (value: unknown): AttributeValue => {
  const parts = pack(value);
  return 'text' in parts ? { S: parts.text } : { B: parts.gzip };
};
/** TTL is in whole epoch seconds; rounded up, so that no item expires early. */
export const expiry = (epochMs: number): AttributeValue => number(Math.ceil(epochMs / 1_000));

export const textAttribute = z.object({ S: z.string() }).transform(({ S }) => S);
export const numberAttribute = z.object({ N: z.string() }).transform(({ N }) => Number(N));
export const instantAttribute = numberAttribute.pipe(instant);
export const packedAttribute: z.ZodType<Packed> = z.union([
  z.object({ S: z.string() }).transform(({ S }) => ({ text: S })),
  z.object({ B: z.instanceof(Uint8Array) }).transform(({ B }) => ({ gzip: B })),
]);

/** The attributes without undefined ones. */
export const present = (attributes: Record<string, AttributeValue | undefined>): Item =>
  Object.fromEntries(Object.entries(attributes).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));

/** The format version of items. Items of another version are refused. */
const current = 1;

export const itemVersion: AttributeValue = number(current);
export const itemVersionAttribute = numberAttribute.refine((version) => version === current, {
  error: (issue) => `the item has version ${String(issue.input)}, but this program reads only version ${current}`,
});
