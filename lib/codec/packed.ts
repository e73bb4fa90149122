/** JSON as it is stored: small values as text, larger ones compressed, because writes are billed by size. */
import { deflateSync, inflateSync } from 'node:zlib';
import { storedJsonDictionary as dictionary } from './packed-dictionary.ts';
import { Unreadable } from './unreadable.ts';

/** `zlib`: RFC 1950, with the dictionary. */
export type Packed = { readonly text: string } | { readonly zlib: Uint8Array };

/** A write is billed by whole KB, and the rest of an item has some hundred bytes. Above this size, compression can save a unit. */
export const packAboveBytes = 600;

export const pack = (value: unknown): Packed => {
  const text = JSON.stringify(value);
  return Buffer.byteLength(text) > packAboveBytes ? { zlib: deflateSync(text, { dictionary }) } : { text };
};

export const packedBytes = (packed: Packed): number =>
  'text' in packed ? Buffer.byteLength(packed.text) : packed.zlib.byteLength;

/** @returns the JSON text */
export const unpack = (what: string, packed: Packed): string => {
  if ('text' in packed) return packed.text;
  try {
    return inflateSync(packed.zlib, { dictionary }).toString('utf8');
  } catch (error) {
    throw new Unreadable(what, 'its compressed data is not valid', { cause: error });
  }
};
