/** Reads rows from a paged list, up to the requested limit. */
import * as z from 'zod';
import { integerBetween } from './parse-command-line.ts';

/** Maximum page size of the API's lists. */
const maxPageRows = 100;

export const listOptions = { limit: integerBetween(1, 100_000).default(25), all: z.boolean().default(false) };

export interface ListedRows<Row> {
  readonly items: readonly Row[];
  /** more rows exist than were requested */
  readonly hasMore: boolean;
}

interface Page<Row> {
  readonly data: readonly Row[];
  readonly cursor: string | null;
  readonly hasMore: boolean;
}

export async function readRows<Row>(
  { limit, all }: { readonly limit: number; readonly all: boolean },
  readPage: (query: { limit: number; cursor?: string }) => Promise<Page<Row>>,
): Promise<ListedRows<Row>> {
  const items: Row[] = [];
  const requestedRows = all ? Number.POSITIVE_INFINITY : limit;
  for (let from: { cursor?: string } = {}; ;) {
    const { data, cursor, hasMore } = await readPage({ limit: Math.min(maxPageRows, requestedRows - items.length), ...from });
    items.push(...data);
    if (!hasMore || cursor === null) return { items, hasMore: false };
    if (items.length >= requestedRows) return { items, hasMore: true };
    from = { cursor };
  }
}

/** Printed below a table that is not complete. */
export const moreRowsHint = ({ hasMore }: Pick<ListedRows<unknown>, 'hasMore'>): readonly string[] =>
  hasMore ? ['More rows exist: use --limit <n> or --all.'] : [];
