/**
 * Cursors of listings: opaque to callers, and bound to the listing, the scope and the filters they were given for.
 * They are not secret and need no signature: a forged one can only name another row of the same scope.
 */
import { createHash } from 'node:crypto';
import * as z from 'zod';
import type { Scope } from '../engine/ids.ts';
import { bodyHash } from './idempotency.ts';

/** What a cursor belongs to: the listing's operation, whose records, and by which filters. */
export interface Listing {
  readonly operationId: string;
  readonly scope: Scope;
  readonly filters: Readonly<Record<string, unknown>>;
}

/** Enough to tell listings apart; 72 bits in 12 letters. */
const listingHashLength = 12;

const listingHash = ({ operationId, scope, filters }: Listing): string =>
  createHash('sha256')
    .update(bodyHash([operationId, scope.projectId, scope.environment, filters]))
    .digest('base64url')
    .slice(0, listingHashLength);

export const encodeCursor = (listing: Listing, position: Readonly<Record<string, unknown>>): string =>
  Buffer.from(JSON.stringify([listingHash(listing), position])).toString('base64url');

/** The position, or undefined where the cursor is not one of this listing. */
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
