/** The workflows by name: the latest version of each, and the way to its runs and its editor. */
import { type ReactNode, useState } from 'react';
import { type WorkflowSummary, api } from '../api.ts';
import { NameFilter, useNameFilter } from '../primitives/name-filter.tsx';
import { Pages, usePages } from '../primitives/pages.tsx';
import { Ago } from '../primitives/time.tsx';
import { Link } from '../router.tsx';
import { NewWorkflow } from './new-workflow.tsx';

export function WorkflowList(): ReactNode {
  const [isCreating, setCreating] = useState(false);
  const { isArchived, isFiltered, query: filter, matches } = useNameFilter();
  const list = usePages({
    key: ['workflows', isArchived],
    read: (query, signal) => api.workflows({ ...query, ...filter }, signal),
  });
  return (
    <section aria-labelledby="workflows-title">
      <div className="page-head">
        <h1 id="workflows-title">Workflows</h1>
        <span className="actions end">
          <button type="button" className="primary" onClick={() => setCreating(true)}>
            New workflow…
          </button>
        </span>
      </div>
      <NameFilter />
      <Pages list={list} empty={<Empty isFiltered={isFiltered} />} more="More workflows">
        {(all) => {
          const rows = all.filter(({ name }) => matches(name));
          return rows.length === 0 ? <Empty isFiltered /> : <Table rows={rows} />;
        }}
      </Pages>
      {isCreating ? <NewWorkflow onClose={() => setCreating(false)} /> : null}
    </section>
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
