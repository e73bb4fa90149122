/**
 * The nodes that wait for a signal, by the runs that have them, newest first. Three lists have them: of the runs that the sweep has found
 * to wait, however old they are, and of the open ones, which the sweep may not have seen yet.
 */
import { type RunSummary, api } from '../api.ts';
import { usePages } from '../primitives/pages.tsx';

export type SignalWait = NonNullable<RunSummary['waits']>[number] & Pick<RunSummary, 'runId' | 'workflowName'>;

type Filters = { readonly attention: 'waiting' } | { readonly status: 'pending' | 'running' };

const usePart = (filters: Filters) =>
  usePages({
    key: ['runs', 'waits', filters],
    read: (query, signal) => api.runs({ ...filters, ...query, includeChildren: 'true', includeWaits: 'true' }, signal),
  });

export function useSignalWaits() {
  const parts = [usePart({ attention: 'waiting' }), usePart({ status: 'pending' }), usePart({ status: 'running' })];
  const runs = new Map(parts.flatMap(({ rows = [] }) => rows.map((run) => [run.runId, run] as const)));
  return {
    rows: parts.every(({ rows }) => rows !== undefined) ? newestFirst([...runs.values()].flatMap(waitsOf)) : undefined,
    omitted: [...runs.values()].reduce((sum, { waitsOmitted = 0 }) => sum + waitsOmitted, 0),
    error: parts.find(({ error, rows }) => error !== null && rows === undefined)?.error ?? null,
    hasMore: parts.some(({ hasNextPage }) => hasNextPage),
    isLoadingMore: parts.some(({ isFetchingNextPage }) => isFetchingNextPage),
    loadMore: () => void Promise.all(parts.filter(({ hasNextPage }) => hasNextPage).map((part) => part.fetchNextPage())),
    refetch: () => void Promise.all(parts.map((part) => part.refetch())),
  };
}

const waitsOf = ({ runId, workflowName, waits = [] }: RunSummary): readonly SignalWait[] =>
  waits.map((wait) => ({ ...wait, runId, workflowName }));

const newestFirst = (waits: readonly SignalWait[]): readonly SignalWait[] =>
  waits.toSorted((one, other) => (one.since < other.since ? 1 : one.since > other.since ? -1 : 0));
