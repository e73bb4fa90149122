/**
 * Cursors of listings. They are opaque and bound to the listing, the scope and the filters.
 * They need no signature: a forged cursor can only name another row of the same scope.
 */
import { createHash } from 'node:crypto';
import * as z from 'zod';
import type { Scope } from '../engine/ids.ts';
import { bodyHash } from './idempotency.ts';

/** The listing that a cursor belongs to: its operation, scope and filters. */
export interface Listing {
  readonly operationId: string;
  readonly scope: Scope;
  readonly filters: Readonly<Record<string, unknown>>;
}

/** 72 bits in 12 characters, enough to distinguish listings. */
const listingHashLength = 12;

const listingHash = ({ operationId, scope, filters }: Listing): string =>
  createHash('sha256')
    .update(bodyHash([operationId, scope.projectId, scope.environment, filters]))
    .digest('base64url')
    .slice(0, listingHashLength);

export const encodeCursor = (listing: Listing, position: Readonly<Record<string, unknown>>): string =>
  Buffer.from(JSON.stringify([listingHash(listing), position])).toString('base64url');

/** The position, or undefined if the cursor is not from this listing. */
export const decodeCursor = <Position>(listing: Listing, schema: z.ZodType<Position>, cursor: string): Position | undefined => {
  const parsed = z.tuple([z.literal(listingHash(listing)), schema]).safeParse(parseCursorJson(cursor));
  return parsed.success ? parsed.data[1] : undefined;
};

const parseCursorJson = (cursor: string): unknown => {
  try {
    return JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'));
  } catch {
    return undefined;
  }
};
