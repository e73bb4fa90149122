/** The pages of the list of runs, by the filters of the address. It is read again every three seconds while the page is visible. */
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { defined } from '../../base/defined.ts';
import { type RunPage, api } from '../api.ts';
import { sinceOf } from '../primitives/search-filters.tsx';

const pollMs = 3_000;
const pageSize = 50;

const textOf = (search: URLSearchParams, name: string): string | undefined => search.get(name) ?? undefined;

export function useRuns(search: URLSearchParams) {
  const given = (name: string): string | undefined => textOf(search, name);
  const filters = defined({
    status: given('status'),
    attention: given('attention'),
    workflowName: given('workflow'),
    includeChildren: given('children'),
    version: given('version'),
    deploymentId: given('deployment'),
    scheduleId: given('schedule'),
    correlationId: given('correlation'),
    calledBy: given('calledBy'),
  });
  const hours = given('hours');
  const first: string | undefined = undefined;
  return useInfiniteQuery({
    queryKey: ['runs', filters, hours],
    initialPageParam: first,
    queryFn: ({ pageParam, signal }: { pageParam: string | undefined; signal: AbortSignal }) =>
      api.runs(
        { ...filters, ...defined({ cursor: pageParam, createdAfter: sinceOf(search, Date.now()) }), limit: pageSize },
        signal,
      ),
    getNextPageParam: ({ cursor }: RunPage) => cursor ?? undefined,
    placeholderData: keepPreviousData,
    refetchInterval: pollMs,
  });
}
