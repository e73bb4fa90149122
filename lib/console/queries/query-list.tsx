/** The stored queries by name, with their kinds and latest versions. */
import type { ReactNode } from 'react';
import { type QuerySummary, api } from '../api.ts';
import { NameFilter, useNameFilter } from '../primitives/name-filter.tsx';
import { Pages, usePages } from '../primitives/pages.tsx';
import { Ago } from '../primitives/time.tsx';
import { Link } from '../router.tsx';

export function QueryList(): ReactNode {
  const { isArchived, query: filter, matches } = useNameFilter();
  const list = usePages({
    key: ['queries', isArchived],
    read: (query, signal) => api.queries({ ...query, ...filter }, signal),
  });
  return (
    <section aria-labelledby="queries-title">
      <div className="page-head">
        <h1 id="queries-title">Queries</h1>
        <span className="dim small">SQL and HTTP requests with parameters, in versions. A dataQuery node runs one.</span>
      </div>
      <NameFilter />
      <Pages list={list} empty={<Empty />} more="More queries">
        {(rows) => <Table rows={rows.filter(({ name }) => matches(name))} />}
      </Pages>
    </section>
  );
}

const example = {
  name: 'recent-orders',
  kind: 'postgres',
  connection: 'orders-db',
  statement: 'select id, total from orders where customer = :customer',
  parameters: [{ name: 'customer', type: 'string', required: true }],
};

const Empty = (): ReactNode => (
  <div className="empty">
    <h2>No query is published yet</h2>
    <p>Save a query as query.json, and publish it. The connection is the name of a secret:</p>
    <pre tabIndex={0}>{`${JSON.stringify(example, undefined, 2)}\n\nnpx stepwell queries publish query.json`}</pre>
  </div>
);

const Table = ({ rows }: { readonly rows: readonly QuerySummary[] }): ReactNode =>
  rows.length === 0 ? (
    <p className="none dim">
      No query matches. <Link to="/queries">Show all queries</Link>
    </p>
  ) : (
    <table className="rows stack">
      <thead>
        <tr>
          <th scope="col">Query</th>
          <th scope="col" className="version">
            Kind
          </th>
          <th scope="col" className="version">
            Version
          </th>
          <th scope="col" className="when">
            Published
          </th>
        </tr>
      </thead>
      <tbody>
        {rows.map(({ name, kind, latestVersion, updatedAt, archivedAt }) => (
          <tr key={name}>
            <td>
              <Link to={`/queries/${encodeURIComponent(name)}`} className="name">
                <bdi>{name}</bdi>
              </Link>
              {archivedAt === undefined ? null : <span className="dim small"> archived</span>}
            </td>
            <td className="version" data-label="Kind">
              {kind}
            </td>
            <td className="version" data-label="Version">
              v{latestVersion}
            </td>
            <td className="when" data-label="Published">
              <Ago at={updatedAt} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
