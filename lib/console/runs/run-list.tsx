/** The list of runs. The address has its filters; it is read again every three seconds while the page is visible. */
import { type ReactNode, useState } from 'react';
import { keepPreviousData, useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { type RunSummary, api } from '../api.ts';
import { defined } from '../../base/defined.ts';
import { Dialog } from '../primitives/dialog.tsx';
import { durationText } from '../primitives/duration.ts';
import { ErrorText } from '../primitives/error-text.tsx';
import { Status } from '../primitives/status.tsx';
import { Ago, useNow } from '../primitives/time.tsx';
import { Link, setSearch, useSearch } from '../router.tsx';
import { why } from './why.ts';

const pollMs = 3_000;
const statuses = ['pending', 'running', 'completed', 'failed', 'cancelled'];
const attentions = ['waiting', 'retrying'];

const isOpen = ({ status }: RunSummary): boolean => status === 'pending' || status === 'running';

export function RunList(): ReactNode {
  const search = useSearch();
  const filter = (name: string): string | undefined => search.get(name) ?? undefined;
  const query = defined({ status: filter('status'), attention: filter('attention'), workflowName: filter('workflow') });
  const hours = Number(filter('hours') ?? Number.NaN);
  const runs = useInfiniteQuery({
    queryKey: ['runs', query, filter('hours'), filter('children')],
    initialPageParam: undefined,
    queryFn: ({ pageParam, signal }: { pageParam: string | undefined; signal: AbortSignal }) =>
      api.runs(
        {
          ...query,
          ...defined({
            cursor: pageParam,
            createdAfter: Number.isNaN(hours) ? undefined : new Date(Date.now() - hours * 3_600_000).toISOString(),
            includeChildren: filter('children'),
          }),
          limit: 50,
        },
        signal,
      ),
    getNextPageParam: ({ cursor }) => cursor ?? undefined,
    placeholderData: keepPreviousData,
    refetchInterval: pollMs,
  });
  const rows = runs.data?.pages.flatMap(({ data }) => data) ?? [];
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [isCancelling, setCancelling] = useState(false);
  const toggle = (runId: string): void => {
    const next = new Set(selected);
    if (!next.delete(runId)) next.add(runId);
    setSelected(next);
  };
  const cancellable = rows.filter((run) => selected.has(run.runId) && isOpen(run));
  return (
    <section aria-labelledby="runs-title">
      <h1 id="runs-title">Runs</h1>
      <Filters />
      {runs.error === null ? null : <ErrorText error={runs.error} onRetry={() => void runs.refetch()} />}
      {selected.size === 0 ? null : (
        <p className="selection" role="status">
          {selected.size} selected{' '}
          <button type="button" disabled={cancellable.length === 0} onClick={() => setCancelling(true)}>
            Cancel {cancellable.length} open…
          </button>{' '}
          <button type="button" onClick={() => setSelected(new Set())}>
            Clear
          </button>
        </p>
      )}
      <table className="rows">
        <thead>
          <tr>
            <th scope="col">
              <span className="hidden">Select</span>
            </th>
            <th scope="col">Status</th>
            <th scope="col">Workflow</th>
            <th scope="col">Run</th>
            <th scope="col">Created</th>
            <th scope="col">Took</th>
            <th scope="col">Why</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((run) => (
            <Row key={run.runId} run={run} isSelected={selected.has(run.runId)} onToggle={() => toggle(run.runId)} />
          ))}
        </tbody>
      </table>
      {runs.isPending ? <p aria-busy="true">Loading…</p> : null}
      {!runs.isPending && rows.length === 0 ? <Empty isFiltered={search.size > 0} /> : null}
      {runs.hasNextPage ? (
        <button type="button" onClick={() => void runs.fetchNextPage()} disabled={runs.isFetchingNextPage}>
          {runs.isFetchingNextPage ? 'Loading…' : 'Older runs'}
        </button>
      ) : null}
      {isCancelling ? (
        <Dialog
          title={`Cancel ${cancellable.length} runs?`}
          action="Cancel them"
          isDangerous
          onClose={() => setCancelling(false)}
          onConfirm={async (form) => {
            for (const { runId } of cancellable) await api.cancel(runId, String(form.get('reason') ?? ''));
            setSelected(new Set());
            await runs.refetch();
          }}
        >
          <p>What they have done stays done. A cancelled run does not continue.</p>
          <label>
            Reason
            <input name="reason" maxLength={1_024} />
          </label>
        </Dialog>
      ) : null}
    </section>
  );
}

function Filters(): ReactNode {
  const search = useSearch();
  const choose = (name: string, label: string, values: readonly (readonly [value: string, text: string])[]): ReactNode => (
    <label>
      {label}
      <select value={search.get(name) ?? ''} onChange={(event) => setSearch({ [name]: event.currentTarget.value })}>
        <option value="">all</option>
        {values.map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
  return (
    <form className="filters" role="search" onSubmit={(event) => event.preventDefault()}>
      {choose('status', 'Status', statuses.map((each) => [each, each]))}
      {choose('attention', 'Attention', attentions.map((each) => [each, each]))}
      <label>
        Workflow
        <input
          key={search.get('workflow')}
          defaultValue={search.get('workflow') ?? ''}
          onBlur={(event) => setSearch({ workflow: event.currentTarget.value.trim() })}
          onKeyDown={(event) => {
            if (event.key === 'Enter') setSearch({ workflow: event.currentTarget.value.trim() });
          }}
        />
      </label>
      {choose('hours', 'Since', [
        ['1', 'an hour'],
        ['24', 'a day'],
        ['168', 'a week'],
      ])}
      <label className="check">
        <input
          type="checkbox"
          checked={search.get('children') === 'true'}
          onChange={(event) => setSearch({ children: event.currentTarget.checked ? 'true' : undefined })}
        />
        child runs
      </label>
    </form>
  );
}

interface RowProps {
  readonly run: RunSummary;
  readonly isSelected: boolean;
  readonly onToggle: () => void;
}

const Row = ({ run, isSelected, onToggle }: RowProps): ReactNode => (
  <tr>
    <td>
      <input type="checkbox" aria-label={`Select ${run.runId}`} checked={isSelected} onChange={onToggle} />
    </td>
    <td>
      <Status status={run.attention ?? run.status} />
    </td>
    <td>
      <bdi>{run.workflowName}</bdi>
      {run.workflowVersion === null ? '' : ` v${run.workflowVersion}`}
    </td>
    <td>
      <Link to={`/runs/${encodeURIComponent(run.runId)}`} title={run.runId}>
        …{run.runId.slice(-6)}
      </Link>
    </td>
    <td>
      <Ago at={run.createdAt} />
    </td>
    <td>{isOpen(run) ? <Took from={run.createdAt} /> : tookText(run)}</td>
    <td className="why">{isOpen(run) ? <WhyOpen runId={run.runId} /> : <bdi>{run.error === undefined ? '' : `${run.error.code}: ${run.error.message}`}</bdi>}</td>
  </tr>
);

const tookText = ({ createdAt, completedAt }: RunSummary): string =>
  completedAt === undefined ? '' : durationText(Date.parse(completedAt) - Date.parse(createdAt));

const Took = ({ from }: { readonly from: string }): ReactNode => durationText(Math.max(0, useNow() - Date.parse(from)));

/** The sentence of one open run, which its own request answers. A failure of it leaves the list as it is. */
function WhyOpen({ runId }: { readonly runId: string }): ReactNode {
  const now = useNow();
  const { data } = useQuery({
    queryKey: ['run', runId, 'none'],
    queryFn: ({ signal }) => api.run(runId, { resolveData: 'none' }, signal),
    refetchInterval: pollMs * 2,
  });
  return <bdi>{data === undefined ? '' : why(data, now)}</bdi>;
}

const Empty = ({ isFiltered }: { readonly isFiltered: boolean }): ReactNode =>
  isFiltered ? (
    <p>
      No run matches. <Link to="/runs">Show all runs</Link>
    </p>
  ) : (
    <div className="card">
      <p>No run exists yet. Publish a workflow and start it:</p>
      <pre>
        npx stepwell workflows publish workflow.json{'\n'}npx stepwell runs start my-workflow --watch
      </pre>
    </div>
  );
