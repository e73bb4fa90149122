/** What needs a person: runs that failed in the last day, runs that fail and try again, and runs that wait. */
import type { ReactNode } from 'react';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { api } from '../api.ts';
import { ErrorText } from '../primitives/error-text.tsx';
import { Loading } from '../primitives/loading.tsx';
import { Link } from '../router.tsx';
import { RunTable } from './run-table.tsx';

const pollMs = 5_000;
const shownRuns = 20;
const dayMs = 86_400_000;

interface PartProps {
  readonly title: string;
  /** what it means that there is none */
  readonly none: string;
  /** of the list of runs that has all of them */
  readonly search: string;
  readonly filters: Readonly<Record<string, string>>;
  readonly isRecent?: boolean;
}

const parts: readonly PartProps[] = [
  {
    title: 'Failed in the last day',
    none: 'None.',
    search: '?status=failed&hours=24',
    filters: { status: 'failed' },
    isRecent: true,
  },
  {
    title: 'Trying again',
    none: 'The sweep has found none.',
    search: '?attention=retrying',
    filters: { attention: 'retrying' },
  },
  {
    title: 'Waiting',
    none: 'The sweep has found none.',
    search: '?attention=waiting',
    filters: { attention: 'waiting' },
  },
];

export const Attention = (): ReactNode => (
  <section aria-labelledby="attention-title">
    <div className="page-head">
      <h1 id="attention-title">Attention</h1>
      <span className="dim small">The sweep finds runs that wait or try again. The list of runs has new ones before it.</span>
    </div>
    {parts.map((part) => (
      <Part key={part.title} {...part} />
    ))}
  </section>
);

/** A part that fails leaves the others as they are. */
function Part({ title, none, search, filters, isRecent = false }: PartProps): ReactNode {
  const { data, error, refetch } = useQuery({
    queryKey: ['runs', 'attention', search],
    queryFn: ({ signal }) => {
      const since = isRecent ? { createdAfter: new Date(Date.now() - dayMs).toISOString() } : {};
      return api.runs({ ...filters, ...since, limit: shownRuns }, signal);
    },
    placeholderData: keepPreviousData,
    refetchInterval: pollMs,
  });
  const rows = data?.data ?? [];
  const hasMore = typeof data?.cursor === 'string';
  return (
    <section className="part" aria-label={title}>
      <div className="part-head">
        <h2>{title}</h2>
        {data === undefined ? null : (
          <span className="count">
            {rows.length}
            {hasMore ? '+' : ''}
          </span>
        )}
        {rows.length === 0 ? null : <Link to={`/runs${search}`}>Show in the list</Link>}
      </div>
      {error === null || data !== undefined ? null : <ErrorText error={error} onRetry={() => void refetch()} />}
      {data === undefined && error === null ? <Loading /> : null}
      {data === undefined ? null : rows.length === 0 ? <p className="none dim">{none}</p> : <RunTable rows={rows} />}
    </section>
  );
}
