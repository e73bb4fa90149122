/** One stored query: what it asks, a form with its parameters, and the result of a run. */
import { type ReactNode, useState } from 'react';
import { useQuery } from '@tanstack/react-query';
import type { JsonValue } from '../../engine/json.ts';
import { type StoredQuery, api } from '../api.ts';
import { ErrorText } from '../primitives/error-text.tsx';
import { JsonTree } from '../primitives/json-tree.tsx';
import { Loading } from '../primitives/loading.tsx';
import { Ago } from '../primitives/time.tsx';
import { VersionChoice, versionIn } from '../primitives/version-choice.tsx';
import { Link, useSearch } from '../router.tsx';
import { PublishQuery } from './publish-query.tsx';
import { RunQuery } from './run-query.tsx';

export function QueryPage({ name }: { readonly name: string }): ReactNode {
  const version = versionIn(useSearch());
  const query = useQuery({
    queryKey: ['queries', name, version ?? 'latest'],
    queryFn: ({ signal }) => api.query(name, version, signal),
    placeholderData: (previous) => previous,
  });
  return (
    <article aria-labelledby="query-title">
      <nav aria-label="Path" className="crumbs">
        <Link to="/queries">Queries</Link> /
      </nav>
      {query.data === undefined ? (
        <>
          <h1 id="query-title">{name}</h1>
          {query.error === null ? <Loading /> : <ErrorText error={query.error} onRetry={() => void query.refetch()} />}
        </>
      ) : (
        <Content key={query.data.version} stored={query.data} />
      )}
    </article>
  );
}

const text = (value: JsonValue | undefined): string | undefined => (typeof value === 'string' ? value : undefined);

function Content({ stored }: { readonly stored: StoredQuery }): ReactNode {
  const [isPublishing, setPublishing] = useState(false);
  const { name, version, latestVersion, kind, query, archivedAt, updatedAt } = stored;
  const description = text(query['description']);
  return (
    <>
      <div className="page-head">
        <h1 id="query-title">
          <bdi>{name}</bdi> <span className="dim">v{version}</span>
        </h1>
        {archivedAt === undefined ? null : <span className="pill wait small">archived</span>}
        <VersionChoice version={version} latest={latestVersion} />
        <span className="actions end">
          <button type="button" onClick={() => setPublishing(true)}>
            New version…
          </button>
        </span>
        {isPublishing ? <PublishQuery query={stored} onClose={() => setPublishing(false)} /> : null}
      </div>
      {description === undefined ? null : (
        <p>
          <bdi>{description}</bdi>
        </p>
      )}
      <dl className="facts">
        <div>
          <dt>Kind</dt>
          <dd>{kind}</dd>
        </div>
        <div>
          <dt>Connection</dt>
          <dd>
            <code>{text(query['connection'])}</code>
          </dd>
        </div>
        <div>
          <dt>Latest version</dt>
          <dd>
            <Ago at={updatedAt} />
          </dd>
        </div>
      </dl>
      <section className="card" aria-label="Definition">
        {text(query['statement']) === undefined ? null : (
          <pre className="prompt" tabIndex={0} aria-label="Statement">
            {text(query['statement'])}
          </pre>
        )}
        <details>
          <summary>Definition</summary>
          <JsonTree value={query} />
        </details>
      </section>
      <RunQuery stored={stored} />
    </>
  );
}
