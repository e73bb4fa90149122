/** The lenses by name, with their latest versions. */
import type { ReactNode } from 'react';
import { api } from '../api.ts';
import { NameFilter, useNameFilter } from '../primitives/name-filter.tsx';
import { Pages, usePages } from '../primitives/pages.tsx';
import { PublishedTable } from '../primitives/published-table.tsx';
import { setSearch, useSearch } from '../router.tsx';
import { PublishLens } from './publish-lens.tsx';

export function LensList(): ReactNode {
  const { isArchived, query: filter, matches } = useNameFilter();
  const isCreating = useSearch().get('new') === 'true';
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
        <span className="actions end">
          <button type="button" className="primary" onClick={() => setSearch({ new: 'true' })}>
            New lens…
          </button>
        </span>
      </div>
      <NameFilter />
      <Pages list={list} empty={<Empty />} more="More lenses">
        {(rows) => <PublishedTable rows={rows.filter(({ name }) => matches(name))} path="/lenses" one="lens" many="lenses" />}
      </Pages>
      {isCreating ? <PublishLens onClose={() => setSearch({ new: undefined })} /> : null}
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
