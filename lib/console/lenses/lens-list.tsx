/** The lenses by name, with their latest versions. */
import type { ReactNode } from 'react';
import { type LensSummary, api } from '../api.ts';
import { NameFilter, useNameFilter } from '../primitives/name-filter.tsx';
import { Pages, usePages } from '../primitives/pages.tsx';
import { Ago } from '../primitives/time.tsx';
import { Link } from '../router.tsx';

export function LensList(): ReactNode {
  const { isArchived, query: filter, matches } = useNameFilter();
  const list = usePages({
    key: ['lenses', isArchived],
    read: (query, signal) => api.lenses({ ...query, ...filter }, signal),
  });
  return (
    <section aria-labelledby="lenses-title">
      <div className="page-head">
        <h1 id="lenses-title">Lenses</h1>
        <span className="dim small">
          Prompt templates with contracts, in versions. A lens node renders one and calls a model.
        </span>
      </div>
      <NameFilter />
      <Pages list={list} empty={<Empty />} more="More lenses">
        {(rows) => <Table rows={rows.filter(({ name }) => matches(name))} />}
      </Pages>
    </section>
  );
}

const Empty = (): ReactNode => (
  <div className="empty">
    <h2>No lens is published yet</h2>
    <p>Save a template as lens.json, and publish it:</p>
    <pre tabIndex={0}>
      {'{ "name": "greeting", "template": "Greet [[name]] in a [[tone!]] tone." }\n\nnpx stepwell lenses publish lens.json'}
    </pre>
  </div>
);

const Table = ({ rows }: { readonly rows: readonly LensSummary[] }): ReactNode =>
  rows.length === 0 ? (
    <p className="none dim">
      No lens matches. <Link to="/lenses">Show all lenses</Link>
    </p>
  ) : (
    <table className="rows stack">
      <thead>
        <tr>
          <th scope="col">Lens</th>
          <th scope="col" className="version">
            Version
          </th>
          <th scope="col" className="when">
            Published
          </th>
        </tr>
      </thead>
      <tbody>
        {rows.map(({ name, latestVersion, updatedAt, archivedAt }) => (
          <tr key={name}>
            <td>
              <Link to={`/lenses/${encodeURIComponent(name)}`} className="name">
                <bdi>{name}</bdi>
              </Link>
              {archivedAt === undefined ? null : <span className="dim small"> archived</span>}
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
