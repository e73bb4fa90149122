/** Lists on the command line: as many rows as were asked for, over as many pages as that takes. */
import * as z from 'zod';
import { count } from './given.ts';

/** Rows of one page of the service, at most. */
const pageRows = 100;

export const listOptions = { limit: count(1, 100_000).default(25), all: z.boolean().default(false) };

export interface Listed<Row> {
  readonly items: readonly Row[];
  /** there are more than were asked for */
  readonly hasMore: boolean;
}

interface Page<Row> {
  readonly data: readonly Row[];
  readonly cursor: string | null;
  readonly hasMore: boolean;
}

export async function listed<Row>(
  { limit, all }: { readonly limit: number; readonly all: boolean },
  pageAt: (query: { limit: number; cursor?: string }) => Promise<Page<Row>>,
): Promise<Listed<Row>> {
  const items: Row[] = [];
  const wanted = all ? Number.POSITIVE_INFINITY : limit;
  for (let from: { cursor?: string } = {}; ;) {
    const { data, cursor, hasMore } = await pageAt({ limit: Math.min(pageRows, wanted - items.length), ...from });
    items.push(...data);
    if (!hasMore || cursor === null) return { items, hasMore: false };
    if (items.length >= wanted) return { items, hasMore: true };
    from = { cursor };
  }
}

/** What a person is told below a table. */
export const moreLine = ({ hasMore }: Pick<Listed<unknown>, 'hasMore'>): readonly string[] =>
  hasMore ? ['There are more: --limit <n> or --all.'] : [];
