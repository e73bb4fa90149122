/** One lens: its template, its contracts, and a try-out with values. The prompt follows what one types; the model is called on demand. */
import { type ReactNode, useState } from 'react';
import { useQuery } from '@tanstack/react-query';
import { type Lens, api } from '../api.ts';
import { ErrorText } from '../primitives/error-text.tsx';
import { JsonTree } from '../primitives/json-tree.tsx';
import { Loading } from '../primitives/loading.tsx';
import { Ago } from '../primitives/time.tsx';
import { VersionChoice, versionIn } from '../primitives/version-choice.tsx';
import { Link, useSearch } from '../router.tsx';
import { PublishLens } from './publish-lens.tsx';
import { Prompt } from './prompt.tsx';
import { TryLens } from './try-lens.tsx';

export function LensPage({ name }: { readonly name: string }): ReactNode {
  const version = versionIn(useSearch());
  const lens = useQuery({
    queryKey: ['lenses', name, version ?? 'latest'],
    queryFn: ({ signal }) => api.lens(name, version, signal),
    placeholderData: (previous) => previous,
  });
  return (
    <article aria-labelledby="lens-title">
      <nav aria-label="Path" className="crumbs">
        <Link to="/lenses">Lenses</Link> /
      </nav>
      {lens.data === undefined ? (
        <>
          <h1 id="lens-title">{name}</h1>
          {lens.error === null ? <Loading /> : <ErrorText error={lens.error} onRetry={() => void lens.refetch()} />}
        </>
      ) : (
        <Content key={lens.data.version} lens={lens.data} />
      )}
    </article>
  );
}

function Content({ lens }: { readonly lens: Lens }): ReactNode {
  const [isPublishing, setPublishing] = useState(false);
  const [values, setValues] = useState<Readonly<Record<string, string>>>({});
  return (
    <>
      <div className="page-head">
        <h1 id="lens-title">
          <bdi>{lens.name}</bdi> <span className="dim">v{lens.version}</span>
        </h1>
        {lens.archivedAt === undefined ? null : <span className="pill wait small">archived</span>}
        <VersionChoice version={lens.version} latest={lens.latestVersion} />
        <span className="actions end">
          <button type="button" onClick={() => setPublishing(true)}>
            New version…
          </button>
        </span>
        {isPublishing ? <PublishLens lens={lens} onClose={() => setPublishing(false)} /> : null}
      </div>
      {lens.description === undefined ? null : (
        <p>
          <bdi>{lens.description}</bdi>
        </p>
      )}
      <dl className="facts">
        <div>
          <dt>Kind</dt>
          <dd>{lens.kind}</dd>
        </div>
        <div>
          <dt>Model</dt>
          <dd>{lens.model ?? 'default'}</dd>
        </div>
        <div>
          <dt>Latest version</dt>
          <dd>
            <Ago at={lens.updatedAt} />
          </dd>
        </div>
      </dl>
      <div className="columns">
        <TryLens lens={lens} values={values} onChange={(change) => setValues((before) => ({ ...before, ...change }))} />
        <Prompt lens={lens} values={values} />
      </div>
      <div className="columns">
        <Contract title="Input contract" contract={lens.input} />
        <Contract title="Output contract" contract={lens.output} />
      </div>
    </>
  );
}

const Contract = ({ title, contract }: { readonly title: string; readonly contract: unknown }): ReactNode => (
  <section className="card" aria-label={title}>
    <h2>{title}</h2>
    {contract === undefined ? <p className="dim">None.</p> : <JsonTree value={contract} />}
  </section>
);
