/** The library's pagination: a cursor is a position in the order of time and id, and pages go in both directions. */
import * as z from 'zod';
import type { Page, PageOptions } from './contract.ts';

export interface PageCursor {
  readonly createdAt: Date;
  readonly id: string;
}

const defaultLimit = 100;

export interface PageRequest {
  readonly limit: number;
  /** reads rows after the cursor, in the given order */
  readonly from: PageCursor | undefined;
  readonly isBackwards: boolean;
  readonly hasAfter: boolean;
}

/** @throws Error for an invalid cursor, and for two cursors */
export function parsePageRequest({ limit = defaultLimit, after, before }: PageOptions): PageRequest {
  if (after && before) throw new Error("Cannot specify both 'after' and 'before' cursors");
  const cursor = after || before;
  return { limit, from: cursor ? parseCursor(cursor) : undefined, isBackwards: Boolean(before), hasAfter: Boolean(after) };
}

const cursorShape = z.object({ createdAt: z.iso.datetime().transform((text) => new Date(text)), id: z.string() });

function parseCursor(cursor: string): PageCursor {
  try {
    return cursorShape.parse(JSON.parse(Buffer.from(cursor, 'base64').toString('utf8')));
  } catch (error) {
    throw new Error('the cursor is not valid: pass a cursor of a previous page', { cause: error });
  }
}

const cursorOf = ({ createdAt, id }: PageCursor): string => Buffer.from(JSON.stringify({ createdAt, id })).toString('base64');

/** @param rows in the order of the read, with one more than the limit where there are more */
export function pageOf<Row extends PageCursor>(rows: readonly Row[], { limit, isBackwards, hasAfter }: PageRequest): Page<Row> {
  const hasMore = rows.length > limit;
  const visibleRows = rows.slice(0, limit);
  const data = isBackwards ? visibleRows.toReversed() : visibleRows;
  const [first, last] = [data.at(0), data.at(-1)];
  return {
    data,
    pagination: {
      next: last !== undefined && (isBackwards || hasMore) ? cursorOf(last) : null,
      prev: first !== undefined && (isBackwards ? hasMore : hasAfter) ? cursorOf(first) : null,
    },
  };
}
