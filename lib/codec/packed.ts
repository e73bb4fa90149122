/** JSON as it is stored: small values as text, larger ones compressed, because writes are billed by size. */
import { gunzipSync, gzipSync } from 'node:zlib';
import { Unreadable } from './unreadable.ts';

export type Packed = { readonly text: string } | { readonly gzip: Uint8Array };

/** A write is billed by whole KB, and the rest of an item has some hundred bytes. Above this size, compression can save a unit. */
export const packAboveBytes = 600;

export const pack = (value: unknown): Packed => {
  const text = JSON.stringify(value);
  return Buffer.byteLength(text) > packAboveBytes ? { gzip: gzipSync(text) } : { text };
};

/** @returns the JSON text */
export const unpack = (what: string, packed: Packed): string => {
  if ('text' in packed) return packed.text;
  try {
    return gunzipSync(packed.gzip).toString('utf8');
  } catch (error) {
    throw new Unreadable(what, 'its data is not valid gzip', { cause: error });
  }
};
