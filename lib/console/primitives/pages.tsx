/** A list of the API in pages: all pages that were read so far, which are read again while the browser shows them. */
import type { ReactNode } from 'react';
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { defined } from '../../base/defined.ts';
import { ErrorText } from './error-text.tsx';
import { Loading } from './loading.tsx';

const pageSize = 50;

interface Page<Row> {
  readonly data: readonly Row[];
  readonly cursor: string | null;
}

interface ListOptions<Row> {
  readonly key: readonly unknown[];
  readonly read: (query: { readonly cursor?: string; readonly limit: number }, signal: AbortSignal) => Promise<Page<Row>>;
  readonly pollMs?: number;
}

/** @returns undefined rows until the first page has arrived */
export function usePages<Row>({ key, read, pollMs = 15_000 }: ListOptions<Row>) {
  const first: string | undefined = undefined;
  const list = useInfiniteQuery({
    queryKey: key,
    initialPageParam: first,
    queryFn: ({ pageParam, signal }: { pageParam: string | undefined; signal: AbortSignal }) =>
      read({ ...defined({ cursor: pageParam }), limit: pageSize }, signal),
    getNextPageParam: ({ cursor }: Page<Row>) => cursor ?? undefined,
    placeholderData: keepPreviousData,
    refetchInterval: pollMs,
  });
  return { ...list, rows: list.data?.pages.flatMap(({ data }) => data) };
}

interface PagesProps<Row> {
  readonly list: ReturnType<typeof usePages<Row>>;
  /** shown instead of the rows if there are none */
  readonly empty: ReactNode;
  readonly more: string;
  readonly children: (rows: readonly Row[]) => ReactNode;
}

/** The rows, or why there are none, with a button for the next page. */
export const Pages = <Row,>({ list, empty, more, children }: PagesProps<Row>): ReactNode => (
  <>
    {list.error === null ? null : <ErrorText error={list.error} onRetry={() => void list.refetch()} />}
    {list.rows === undefined ? list.error === null ? <Loading /> : null : list.rows.length === 0 ? empty : children(list.rows)}
    {list.hasNextPage ? (
      <button type="button" onClick={() => void list.fetchNextPage()} disabled={list.isFetchingNextPage}>
        {list.isFetchingNextPage ? 'Loading…' : more}
      </button>
    ) : null}
  </>
);
