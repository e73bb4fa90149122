/** The audit trail: who did what, when, with which result. The filters are in the address. */
import { type ReactNode, useId } from 'react';
import { defined } from '../../base/defined.ts';
import { type AuditEntry, api } from '../api.ts';
import { JsonTree } from '../primitives/json-tree.tsx';
import { Pages, usePages } from '../primitives/pages.tsx';
import { TextFilter, TimeFilter, sinceOf } from '../primitives/search-filters.tsx';
import { Ago } from '../primitives/time.tsx';
import { Link, setSearch, useSearch } from '../router.tsx';
import { AdminGate } from './admin-gate.tsx';
import { pageOf } from './resource-page.ts';

export const AuditPage = (): ReactNode => (
  <section aria-labelledby="audit-title">
    <div className="page-head">
      <h1 id="audit-title">Audit trail</h1>
    </div>
    <AdminGate what="The audit trail of the project" command="npx stepwell audit">
      <Entries />
    </AdminGate>
  </section>
);

/** A person is `oidc:<name>`, a key `key:<id>` or its id. */
const actorOf = (text: string) => (text.startsWith('oidc:') ? { subject: text } : { keyId: text.replace(/^key:/, '') });

function filtersIn(search: URLSearchParams) {
  const given = (name: string): string | undefined => search.get(name) ?? undefined;
  const actor = given('actor');
  return defined({
    action: given('action'),
    result: given('result'),
    runId: given('run'),
    ...(actor === undefined ? {} : actorOf(actor)),
    since: sinceOf(search, Date.now()),
  });
}

function Entries(): ReactNode {
  const search = useSearch();
  const list = usePages<AuditEntry>({
    key: ['audit', search.toString()],
    read: (query, signal) => api.audit({ ...filtersIn(search), ...query }, signal),
  });
  return (
    <>
      <Filters actions={[...new Set((list.rows ?? []).map(({ action }) => action))].toSorted()} />
      <Pages list={list} empty={<Empty isFiltered={search.size > 0} hasMore={list.hasNextPage} />} more="Older entries">
        {(rows) => <Table rows={rows} />}
      </Pages>
    </>
  );
}

function Filters({ actions }: { readonly actions: readonly string[] }): ReactNode {
  const search = useSearch();
  const known = useId();
  return (
    <form className="filters" role="search" aria-label="Filter the entries" onSubmit={(event) => event.preventDefault()}>
      <TextFilter className="grow" name="actor" label="Actor" placeholder="Id of a key, or oidc:name" />
      <TextFilter className="grow" name="action" label="Action" placeholder="Action, such as runs.cancel" list={known} />
      <datalist id={known}>
        {actions.map((action) => (
          <option key={action} value={action} />
        ))}
      </datalist>
      <TimeFilter label="Time" />
      <label className="check">
        <input
          type="checkbox"
          checked={search.get('result') === 'failure'}
          onChange={(event) => setSearch({ result: event.currentTarget.checked ? 'failure' : undefined })}
        />
        Refused only
      </label>
      {search.get('run') === null ? null : (
        <button type="button" onClick={() => setSearch({ run: undefined })}>
          Of one run ✕
        </button>
      )}
    </form>
  );
}

const Table = ({ rows }: { readonly rows: readonly AuditEntry[] }): ReactNode => (
  <table className="rows audit">
    <thead>
      <tr>
        <th scope="col" className="when">
          When
        </th>
        <th scope="col" className="by">
          Who
        </th>
        <th scope="col">What</th>
        <th scope="col" className="result">
          Result
        </th>
      </tr>
    </thead>
    <tbody>
      {rows.map((entry) => (
        <Row key={entry.id} entry={entry} />
      ))}
    </tbody>
  </table>
);

function Row({
  entry: { at, keyId, session, action, resource, result, ip, metadata },
}: {
  readonly entry: AuditEntry;
}): ReactNode {
  const actor = session?.subject ?? (keyId === null ? undefined : `key:${keyId}`);
  const page = pageOf(resource, metadata);
  const code = metadata['code'] ?? metadata['why'];
  return (
    <tr>
      <td className="when">
        <Ago at={at} />
      </td>
      <td className="by">
        {actor === undefined ? (
          <span className="dim">unknown</span>
        ) : (
          <Link to={`/audit?actor=${encodeURIComponent(actor)}`} title={actor}>
            <bdi>{actor}</bdi>
          </Link>
        )}
        <div className="dim small">{session === undefined ? 'a program' : 'a person'}</div>
      </td>
      <td className="what">
        <b>{action}</b> {page === undefined ? <bdi>{resource}</bdi> : <Link to={page}>{resource}</Link>}
        <details>
          <summary className="small">Details</summary>
          <JsonTree value={defined({ at, ip, keyId, session, metadata })} />
        </details>
      </td>
      <td className="result">
        <span className={result === 'success' ? 'good' : 'bad'}>{result === 'success' ? 'done' : 'refused'}</span>
        {typeof code === 'string' ? <div className="dim small">{code}</div> : null}
      </td>
    </tr>
  );
}

const Empty = ({ isFiltered, hasMore }: { readonly isFiltered: boolean; readonly hasMore: boolean }): ReactNode => (
  <div className="empty">
    <h2>{isFiltered ? 'No entry matches' : 'The trail has no entry yet'}</h2>
    <p>
      {hasMore ? 'Older entries may match.' : 'Each change of the project and each refused key makes an entry, for 400 days.'}
    </p>
    {isFiltered ? <Link to="/audit">Show all entries</Link> : null}
  </div>
);
