/**
 * The nodes that wait for a signal. The API lists runs, not waits, so the nodes of open runs are read: those that the sweep has found
 * to wait, and the newest open ones, which the sweep may not have seen yet.
 */
import { useQueries } from '@tanstack/react-query';
import { defined } from '../../base/defined.ts';
import { type RunSummary, api } from '../api.ts';

const pollMs = 15_000;
/** Of each list. A session has 600 requests a minute, and each run is one of them. */
const maxRuns = 25;

export interface SignalWait {
  readonly runId: string;
  readonly workflowName: string;
  readonly nodeId: string;
  readonly iteration?: string;
  readonly signal: string;
  readonly correlation: string;
  readonly since?: string;
  /** absent: until the run ends */
  readonly until?: string;
}

const lists = [{ attention: 'waiting' }, { status: 'pending' }, { status: 'running' }] as const;

export function useSignalWaits() {
  const pages = useQueries({
    queries: lists.map((filters) => ({
      queryKey: ['runs', 'open', filters],
      queryFn: ({ signal }: { readonly signal: AbortSignal }) =>
        api.runs({ ...filters, includeChildren: 'true', limit: maxRuns }, signal),
      refetchInterval: pollMs,
    })),
  });
  const summaries = new Map(pages.flatMap(({ data }) => data?.data ?? []).map((run) => [run.runId, run] as const));
  const runs = useQueries({
    queries: [...summaries.keys()].map((runId) => ({
      queryKey: ['run', runId, 'none'],
      queryFn: ({ signal }: { readonly signal: AbortSignal }) => api.run(runId, { resolveData: 'none' }, signal),
      refetchInterval: pollMs,
    })),
  });
  const error = pages.find((page) => page.error !== null && page.data === undefined)?.error ?? null;
  const isReady = pages.every(({ data }) => data !== undefined) && runs.every(({ isPending }) => !isPending);
  return {
    rows: isReady ? runs.flatMap(({ data }) => (data === undefined ? [] : waitsOf(data))) : undefined,
    error,
    isPartial: pages.some(({ data }) => typeof data?.cursor === 'string'),
    refetch: () => void Promise.all([...pages, ...runs].map((each) => each.refetch())),
  };
}

type WaitingRun = Pick<RunSummary, 'runId' | 'workflowName'> & Pick<Awaited<ReturnType<typeof api.run>>, 'nodes'>;

const waitsOf = ({ runId, workflowName, nodes }: WaitingRun): readonly SignalWait[] =>
  nodes.flatMap(({ nodeId, iteration, waitingFor, startedAt }) =>
    waitingFor === undefined
      ? []
      : [
          defined({
            runId,
            workflowName,
            nodeId,
            iteration,
            signal: waitingFor.signal,
            correlation: waitingFor.correlation,
            since: startedAt,
            until: waitingFor.until,
          }),
        ],
  );
