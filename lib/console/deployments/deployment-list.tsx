/** The deployments of code, newest first, by app: which one new runs start on, and how many open runs each one still executes. */
import type { ReactNode } from 'react';
import { useQuery } from '@tanstack/react-query';
import { type DeploymentSummary, api } from '../api.ts';
import { Pages, usePages } from '../primitives/pages.tsx';
import { Ago } from '../primitives/time.tsx';
import { Link, setSearch, useSearch } from '../router.tsx';
import { type ActiveDeployment, countText } from './active-deployment.ts';
import { DeploymentActions } from './deployment-actions.tsx';

export function DeploymentList(): ReactNode {
  const app = useSearch().get('app') ?? '';
  const list = usePages({ key: ['deployments'], read: api.deployments });
  const apps = [...new Set((list.rows ?? []).map((each) => each.app))].toSorted();
  return (
    <section aria-labelledby="deployments-title">
      <div className="page-head">
        <h1 id="deployments-title">Deployments</h1>
        <span className="dim small">A run stays on the deployment that it started on.</span>
      </div>
      {apps.length > 1 || app !== '' ? (
        <form className="filters" role="search" onSubmit={(event) => event.preventDefault()}>
          <label className="check">
            App
            <select value={app} onChange={({ currentTarget: { value } }) => setSearch({ app: value })}>
              <option value="">all</option>
              {apps.map((name) => (
                <option key={name}>{name}</option>
              ))}
            </select>
          </label>
        </form>
      ) : null}
      <Pages list={list} empty={<Empty />} more="Older deployments">
        {(rows) => <Table rows={rows.filter((each) => app === '' || each.app === app)} />}
      </Pages>
    </section>
  );
}

const Empty = (): ReactNode => (
  <div className="empty">
    <h2>No code is deployed yet</h2>
    <p>A deployment has the code of workflows that are written in TypeScript. Run this in a project of them:</p>
    <pre tabIndex={0}>npx stepwell deploy</pre>
  </div>
);

function Table({ rows }: { readonly rows: readonly DeploymentSummary[] }): ReactNode {
  const apps = useQuery({ queryKey: ['deployments', 'apps'], queryFn: ({ signal }) => api.apps(signal) });
  if (rows.length === 0)
    return (
      <p className="none dim">
        No deployment of this app. <Link to="/deployments">Show all deployments</Link>
      </p>
    );
  return (
    <table className="rows stack deployments">
      <thead>
        <tr>
          <th scope="col">Deployment</th>
          <th scope="col" className="by">
            App
          </th>
          <th scope="col">Workflows</th>
          <th scope="col" className="when">
            Created
          </th>
          <th scope="col" className="number">
            Open runs
          </th>
          <th scope="col" className="links">
            <span className="hidden">Actions</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {rows.map((deployment) => (
          <Row
            key={deployment.deploymentId}
            deployment={deployment}
            active={apps.data?.data.find(({ app }) => app === deployment.app)}
            activeRuns={rows.find(({ app, status }) => app === deployment.app && status === 'active')?.openRuns}
          />
        ))}
      </tbody>
    </table>
  );
}

interface RowProps {
  readonly deployment: DeploymentSummary;
  /** of the same app */
  readonly active: ActiveDeployment | undefined;
  /** open runs of the active deployment, if it is in the list */
  readonly activeRuns: number | undefined;
}

const Row = ({ deployment, active, activeRuns }: RowProps): ReactNode => {
  const { deploymentId, app, runtime, workflows, createdAt, openRuns } = deployment;
  return (
    <tr>
      <td>
        <code className="name" title={deploymentId}>
          {deploymentId}
        </code>{' '}
        <State deployment={deployment} />
      </td>
      <td className="by" data-label="App">
        <bdi>{app}</bdi> <span className="dim small">{runtime}</span>
      </td>
      <td data-label="Workflows">
        <Workflows names={[...new Set(workflows.map(({ name }) => name))]} />
      </td>
      <td className="when" data-label="Created">
        <Ago at={createdAt} />
      </td>
      <td className="number" data-label="Open runs">
        <Link
          to={`/runs?deployment=${encodeURIComponent(deploymentId)}`}
          aria-label={`Runs of ${deploymentId}, ${openRuns} open`}
        >
          {countText(openRuns)}
        </Link>
      </td>
      <td className="links">
        <DeploymentActions deployment={deployment} active={active} activeRuns={activeRuns} />
      </td>
    </tr>
  );
};

const State = ({ deployment: { status, verifiedAt, removingSince } }: { readonly deployment: DeploymentSummary }): ReactNode => {
  if (removingSince !== undefined) return <span className="pill wait small">being removed</span>;
  if (status === 'active') return <span className="pill good small">active</span>;
  return verifiedAt === undefined ? <span className="pill dim small">not verified</span> : null;
};

const firstNames = 4;

const Workflows = ({ names }: { readonly names: readonly string[] }): ReactNode => (
  <>
    {names.slice(0, firstNames).map((name, index) => (
      <span key={name}>
        {index === 0 ? '' : ', '}
        <Link to={`/runs?workflow=${encodeURIComponent(name)}`} title={`Runs of ${name}`}>
          <bdi>{name}</bdi>
        </Link>
      </span>
    ))}
    {names.length > firstNames ? (
      <span className="dim" title={names.slice(firstNames).join(', ')}>
        {' '}
        and {names.length - firstNames} more
      </span>
    ) : null}
  </>
);
