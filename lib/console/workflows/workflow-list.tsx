/** The workflows by name: the latest version of each, and the way to its runs and its editor. */
import { type ReactNode, useState } from 'react';
import { useInfiniteQuery } from '@tanstack/react-query';
import { defined } from '../../base/defined.ts';
import { type WorkflowPage, type WorkflowSummary, api } from '../api.ts';
import { ErrorText } from '../primitives/error-text.tsx';
import { Loading } from '../primitives/loading.tsx';
import { Ago } from '../primitives/time.tsx';
import { Link, setSearch, useSearch } from '../router.tsx';
import { NewWorkflow } from './new-workflow.tsx';

const pageSize = 100;
const pollMs = 15_000;

export function WorkflowList(): ReactNode {
  const search = useSearch();
  const isArchived = search.get('archived') === 'true';
  const wanted = search.get('name') ?? '';
  const first: string | undefined = undefined;
  const workflows = useInfiniteQuery({
    queryKey: ['workflows', isArchived],
    initialPageParam: first,
    queryFn: ({ pageParam, signal }: { pageParam: string | undefined; signal: AbortSignal }) =>
      api.workflows({ ...defined({ cursor: pageParam, archived: isArchived ? 'true' : undefined }), limit: pageSize }, signal),
    getNextPageParam: ({ cursor }: WorkflowPage) => cursor ?? undefined,
    refetchInterval: pollMs,
  });
  const all = workflows.data?.pages.flatMap(({ data }) => data) ?? [];
  const rows = all.filter(({ name }) => name.toLowerCase().includes(wanted.toLowerCase()));
  return (
    <section aria-labelledby="workflows-title">
      <Head isArchived={isArchived} wanted={wanted} />
      {workflows.error === null ? null : <ErrorText error={workflows.error} onRetry={() => void workflows.refetch()} />}
      {workflows.isPending && workflows.error === null ? <Loading /> : null}
      {workflows.data !== undefined && rows.length === 0 ? <Empty isFiltered={wanted !== '' || isArchived} /> : null}
      {rows.length === 0 ? null : <Table rows={rows} />}
      {workflows.hasNextPage ? (
        <button type="button" onClick={() => void workflows.fetchNextPage()} disabled={workflows.isFetchingNextPage}>
          {workflows.isFetchingNextPage ? 'Loading…' : 'More workflows'}
        </button>
      ) : null}
    </section>
  );
}

function Head({ isArchived, wanted }: { readonly isArchived: boolean; readonly wanted: string }): ReactNode {
  const [isCreating, setCreating] = useState(false);
  return (
    <>
      <div className="page-head">
        <h1 id="workflows-title">Workflows</h1>
        <span className="actions end">
          <button type="button" className="primary" onClick={() => setCreating(true)}>
            New workflow…
          </button>
        </span>
      </div>
      <form className="filters" role="search" onSubmit={(event) => event.preventDefault()}>
        <input
          type="search"
          className="grow"
          placeholder="Name"
          aria-label="Name"
          defaultValue={wanted}
          onChange={(event) => setSearch({ name: event.currentTarget.value })}
        />
        <label className="check">
          <input
            type="checkbox"
            checked={isArchived}
            onChange={(event) => setSearch({ archived: event.currentTarget.checked ? 'true' : undefined })}
          />
          Archived
        </label>
      </form>
      {isCreating ? <NewWorkflow onClose={() => setCreating(false)} /> : null}
    </>
  );
}

const Table = ({ rows }: { readonly rows: readonly WorkflowSummary[] }): ReactNode => (
  <table className="rows workflows">
    <thead>
      <tr>
        <th scope="col">Workflow</th>
        <th scope="col" className="version">
          Version
        </th>
        <th scope="col" className="when">
          Published
        </th>
        <th scope="col" className="links">
          <span className="hidden">Links</span>
        </th>
      </tr>
    </thead>
    <tbody>
      {rows.map((workflow) => (
        <Row key={workflow.name} workflow={workflow} />
      ))}
    </tbody>
  </table>
);

const Row = ({ workflow }: { readonly workflow: WorkflowSummary }): ReactNode => {
  const address = `/workflows/${encodeURIComponent(workflow.name)}`;
  return (
    <tr>
      <td>
        <Link to={address} className="name">
          <bdi>{workflow.name}</bdi>
        </Link>
        {workflow.deletingSince === undefined ? null : <span className="bad small"> is being deleted</span>}
      </td>
      <td className="version">v{workflow.latestVersion}</td>
      <td className="when">
        <Ago at={workflow.updatedAt} />
      </td>
      <td className="links">
        <Link to={`/runs?workflow=${encodeURIComponent(workflow.name)}`} aria-label={`Runs of ${workflow.name}`}>
          Runs
        </Link>
        <Link to={`${address}/edit`} aria-label={`Edit ${workflow.name}`}>
          Edit
        </Link>
      </td>
    </tr>
  );
};

const Empty = ({ isFiltered }: { readonly isFiltered: boolean }): ReactNode =>
  isFiltered ? (
    <div className="empty">
      <h2>No workflow matches</h2>
      <p>
        <Link to="/workflows">Show all workflows</Link>
      </p>
    </div>
  ) : (
    <div className="empty">
      <h2>No workflow is published yet</h2>
      <p>Draw one with “New workflow”, or publish a file:</p>
      <pre>npx stepwell workflows publish workflow.json</pre>
    </div>
  );
