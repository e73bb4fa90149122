/** Pages of the World's lists: by entries, by bytes and by runs. */
import { type JsonObject } from '../../../engine/json.ts';
import { instant } from '../../../engine/time.ts';
import type { ListPosition } from '../../../ports/run-index.ts';
import { type Page, type Pagination, maxPageBytes, maxPageSize } from './read-events.ts';

export const defaultPageSize = 100;

interface PageOf<Entry> {
  readonly data: readonly Entry[];
  readonly cursor: string | null;
  readonly hasMore: boolean;
}

/**
 * @param isListed false: the entry is left out. A cursor may name it, because it may have been listed before.
 * @returns undefined if the cursor names nothing of the list
 */
export function pageOf<Entry>(
  all: readonly Entry[],
  nameOf: (entry: Entry) => string,
  { cursor, limit = defaultPageSize }: Pagination,
  isListed: (entry: Entry) => boolean = () => true,
): PageOf<Entry> | undefined {
  const before = cursor === undefined ? -1 : all.findIndex((entry) => nameOf(entry) === cursor);
  if (cursor !== undefined && before === -1) return undefined;
  const rest = all.slice(before + 1).filter(isListed);
  const data = rest.slice(0, Math.min(limit, maxPageSize));
  const last = data.at(-1);
  return { data, cursor: last === undefined ? (cursor ?? null) : nameOf(last), hasMore: data.length < rest.length };
}

/** Each batch has less than the largest answer, even with two values of the log in each entry. */
const viewsInBatch = 50;

/** A page that ends before its answer is too large: its values are in the log, up to 8 KB each. */
export async function withinBytes<Entry>(
  { data: entries, ...page }: PageOf<Entry>,
  nameOf: (entry: Entry) => string,
  load: (batch: readonly Entry[]) => Promise<readonly JsonObject[]>,
): Promise<Page> {
  const data: JsonObject[] = [];
  let bytes = 0;
  for (let first = 0; first < entries.length; first += viewsInBatch) {
    for (const view of await load(entries.slice(first, first + viewsInBatch))) {
      bytes += Buffer.byteLength(JSON.stringify(view));
      const last = entries[data.length - 1];
      if (bytes > maxPageBytes && last !== undefined) return { data, cursor: nameOf(last), hasMore: true };
      data.push(view);
    }
  }
  return { ...page, data };
}

/** Each run of a page is read to the end of its log. */
export const maxRunsInPage = 100;

export const cursorOf = ({ createdAt, runId: id }: ListPosition): string => `${createdAt}.${id}`;

export function positionOf(cursor: string): ListPosition | undefined {
  const [, time = '', id = ''] = /^(\d{1,15})\.(.{0,64})$/.exec(cursor) ?? [];
  return time === '' ? undefined : { createdAt: instant(Number(time)), runId: id };
}
