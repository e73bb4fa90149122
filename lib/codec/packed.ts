/** JSON as it is stored: as text while it is small, compressed when it is not, because bytes are what a run costs. */
import { gunzipSync, gzipSync } from 'node:zlib';
import { Unreadable } from './unreadable.ts';

export type Packed = { readonly text: string } | { readonly gzip: Uint8Array };

/** A write is billed by whole KB, and the item holds some hundred bytes besides: above this, packing can save a unit. */
const packAboveBytes = 600;

export const pack = (value: unknown): Packed => {
  const text = JSON.stringify(value);
  return Buffer.byteLength(text) > packAboveBytes ? { gzip: gzipSync(text) } : { text };
};

/** The JSON text again. */
export const unpack = (what: string, packed: Packed): string => {
  if ('text' in packed) return packed.text;
  try {
    return gunzipSync(packed.gzip).toString('utf8');
  } catch (error) {
    throw new Unreadable(what, 'it is not gzip', { cause: error });
  }
};
