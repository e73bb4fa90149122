/**
 * How items are stored: a schema lists the attributes of an item, with their names and types. It writes items and parses them.
 * Only strings, numbers and binary values are used. Names of attributes are short where an item is written often, because every
 * write is billed by size. A stored name or type never changes (docs/decisions/item-mapping.md).
 */
import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import * as z from 'zod';
import { type Defined, defined } from '../base/defined.ts';
import { instant } from '../codec/ids.ts';
import { pack, unpack } from '../codec/packed.ts';
import { Unreadable, read } from '../codec/unreadable.ts';
import { controlTableKeys } from '../contract/environment.ts';
import type { Instant } from '../engine/time.ts';

export type Item = Record<string, AttributeValue>;

export const text = (value: string): AttributeValue => ({ S: value });
export const number = (value: number): AttributeValue => ({ N: String(value) });
/** JSON in one attribute: a string if it is small, else compressed bytes. */
export const packed = (value: unknown): AttributeValue => {
  const parts = pack(value);
  return 'text' in parts ? { S: parts.text } : { B: parts.zlib };
};
/** TTL is in whole epoch seconds; rounded up, so that no item expires early. */
export const expiry = (epochMs: number): AttributeValue => number(Math.ceil(epochMs / 1_000));

/** The attributes without undefined ones. */
export const present = (attributes: Record<string, AttributeValue | undefined>): Item =>
  Object.fromEntries(Object.entries(attributes).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));

export const textAttribute = z.object({ S: z.string() }).transform(({ S }) => S);
export const numberAttribute = z.object({ N: z.string() }).transform(({ N }) => Number(N));
export const instantAttribute = numberAttribute.pipe(instant);

/** One attribute: how a value is written, and the schema that parses it. */
export interface Attribute<Value> {
  /** default: the name of the property */
  readonly name?: string;
  /** undefined: the item does not have the attribute */
  encode(this: void, value: Value): AttributeValue | undefined;
  readonly parse: z.ZodType<Value>;
}

/** The attribute has another name than the property. */
export const named = <Value>(name: string, attribute: Attribute<Value>): Attribute<Value> => ({ ...attribute, name });

export const anyString: Attribute<string> = { encode: text, parse: textAttribute };
export const stringOf = <Value extends string>(schema: z.ZodType<Value, string>): Attribute<Value> => ({
  encode: text,
  parse: textAttribute.pipe(schema),
});
export const anyNumber: Attribute<number> = { encode: number, parse: numberAttribute };
export const numberOf = <Value extends number>(schema: z.ZodType<Value, number>): Attribute<Value> => ({
  encode: number,
  parse: numberAttribute.pipe(schema),
});
export const anyInstant: Attribute<Instant> = { encode: number, parse: instantAttribute };
/** 1 or 0. */
export const anyFlag: Attribute<boolean> = {
  encode: (value) => number(value ? 1 : 0),
  parse: numberAttribute.pipe(z.literal([0, 1])).transform((value) => value === 1),
};
/** 1 if it is set; else the item does not have the attribute. */
export const anyMark: Attribute<true> = {
  encode: () => number(1),
  parse: numberAttribute.pipe(z.literal(1)).transform(() => true as const),
};

/** @param stored what is written for a value; default: the value */
export const jsonOf = <Value>(
  schema: z.ZodType<Value>,
  stored: (value: Value) => unknown = (value) => value,
): Attribute<Value> => ({
  encode: (value) => packed(stored(value)),
  parse: packedAttribute.pipe(schema),
});

const packedAttribute = z
  .union([
    z.object({ S: z.string() }).transform(({ S }) => ({ text: S })),
    z.object({ B: z.instanceof(Uint8Array) }).transform(({ B }) => ({ zlib: B })),
  ])
  .transform((stored, context): unknown => {
    try {
      return JSON.parse(unpack('the value', stored));
    } catch (error) {
      context.addIssue({ code: 'custom', message: error instanceof Unreadable ? error.message : 'it is not valid JSON' });
      return z.NEVER;
    }
  });

export const optional = <Value>({ encode, parse, ...rest }: Attribute<Value>): Attribute<Value | undefined> => ({
  ...rest,
  encode: (value) => (value === undefined ? undefined : encode(value)),
  parse: parse.optional(),
});

/** The item has no attribute for null. */
export const nullable = <Value>({ encode, parse, ...rest }: Attribute<Value>): Attribute<Value | null> => ({
  ...rest,
  encode: (value) => (value === null ? undefined : encode(value)),
  parse: parse.optional().transform((value) => value ?? null),
});

/** A part of the item's key, which the table writes. */
export const keyPart = <Value>(name: 'pk' | 'sk', schema: z.ZodType<Value, string>): Attribute<Value> => ({
  name,
  encode: () => undefined,
  parse: textAttribute.pipe(schema),
});

const currentVersion = 1;
/** The format version of items. Items of another version are refused. */
export const itemVersion = number(currentVersion);
const version = numberAttribute.refine((found) => found === currentVersion, {
  error: (issue) => `the item has version ${String(issue.input)}, but this program reads only version ${currentVersion}`,
});

export interface ItemSchema<Value> {
  /** @param expiresAt when DynamoDB may delete the item; absent: never */
  readonly encode: (value: Value, expiresAt?: Instant) => Item;
  /** @throws Unreadable with the kind of the item and the name of each invalid attribute */
  readonly decode: (item: Item) => Value;
}

export type AttributesOf<Value extends object> = { readonly [Name in keyof Value]: Attribute<Value[Name]> };

/**
 * The attributes of an item with a format version.
 * @param what the kind of the item in error messages, for example `a workflow`
 */
export const itemSchema = <Value extends object>(what: string, attributes: AttributesOf<Value>): ItemSchema<Defined<Value>> => {
  const schema = partSchema(what, attributes, { v: version });
  return { ...schema, encode: (value, expiresAt) => ({ v: itemVersion, ...schema.encode(value, expiresAt) }) };
};

/** Some attributes of an item, for an item that is read in part, and for the result of an update. */
export function partSchema<Value extends object>(
  what: string,
  attributes: AttributesOf<Value>,
  checked?: z.ZodRawShape,
): ItemSchema<Defined<Value>>;
export function partSchema(
  what: string,
  attributes: Readonly<Record<string, Attribute<unknown>>>,
  checked: z.ZodRawShape = {},
): ItemSchema<Readonly<Record<string, unknown>>> {
  const stored = Object.entries(attributes).map(([property, attribute]) => ({ property, name: property, ...attribute }));
  const shape = z.object({ ...checked, ...Object.fromEntries(stored.map(({ name, parse }) => [name, parse])) });
  return {
    encode: (value, expiresAt) =>
      present({
        ...Object.fromEntries(stored.map(({ property, name, encode }) => [name, encode(value[property])])),
        [controlTableKeys.expiry]: expiresAt && expiry(expiresAt),
      }),
    decode: (item) => {
      const parsed: Readonly<Record<string, unknown>> = read(what, shape, item);
      return defined(Object.fromEntries(stored.map(({ property, name }) => [property, parsed[name]])));
    },
  };
}
