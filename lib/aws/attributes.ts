/** Attributes of an item, written and read. Only three kinds are used: text, numbers and bytes. */
import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import * as z from 'zod';
import { instant } from '../codec/ids.ts';
import { type Packed, pack } from '../codec/packed.ts';

export type Item = Record<string, AttributeValue>;

export const text = (value: string): AttributeValue => ({ S: value });
export const number = (value: number): AttributeValue => ({ N: String(value) });
/** JSON under one name: as text while it is small, as compressed bytes when it is not. */
export const packed = (value: unknown): AttributeValue => {
  const parts = pack(value);
  return 'text' in parts ? { S: parts.text } : { B: parts.gzip };
};
/** DynamoDB forgets by whole epoch seconds; rounded up, so that nothing goes too early. */
export const expiry = (epochMs: number): AttributeValue => number(Math.ceil(epochMs / 1_000));

export const textAttribute = z.object({ S: z.string() }).transform(({ S }) => S);
export const numberAttribute = z.object({ N: z.string() }).transform(({ N }) => Number(N));
export const instantAttribute = numberAttribute.pipe(instant);
export const packedAttribute: z.ZodType<Packed> = z.union([
  z.object({ S: z.string() }).transform(({ S }) => ({ text: S })),
  z.object({ B: z.instanceof(Uint8Array) }).transform(({ B }) => ({ gzip: B })),
]);

/** The attributes that are there, without those that are not. */
export const present = (attributes: Record<string, AttributeValue | undefined>): Item =>
  Object.fromEntries(Object.entries(attributes).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
