/** The stored queries by name, with their kinds and latest versions. */
import type { ReactNode } from 'react';
import { api } from '../api.ts';
import { NameFilter, useNameFilter } from '../primitives/name-filter.tsx';
import { Pages, usePages } from '../primitives/pages.tsx';
import { PublishedTable } from '../primitives/published-table.tsx';
import { setSearch, useSearch } from '../router.tsx';
import { PublishQuery } from './publish-query.tsx';

export function QueryList(): ReactNode {
  const { isArchived, query: filter, matches } = useNameFilter();
  const isCreating = useSearch().get('new') === 'true';
  const list = usePages({
    key: ['queries', isArchived],
    read: (query, signal) => api.queries({ ...query, ...filter }, signal),
  });
  return (
    <section aria-labelledby="queries-title">
      <div className="page-head">
        <h1 id="queries-title">Queries</h1>
        <span className="dim small">SQL and HTTP requests with parameters, in versions. A dataQuery node runs one.</span>
        <span className="actions end">
          <button type="button" className="primary" onClick={() => setSearch({ new: 'true' })}>
            New query…
          </button>
        </span>
      </div>
      <NameFilter />
      <Pages list={list} empty={<Empty />} more="More queries">
        {(rows) => (
          <PublishedTable
            rows={rows.filter(({ name }) => matches(name))}
            path="/queries"
            one="query"
            many="queries"
            column={{ title: 'Kind', of: ({ kind }) => kind }}
          />
        )}
      </Pages>
      {isCreating ? <PublishQuery onClose={() => setSearch({ new: undefined })} /> : null}
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
