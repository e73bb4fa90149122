/** One workflow: its versions, the graph and options of one of them, and what a person can do with it. */
import { type ReactNode, useState } from 'react';
import { useQuery } from '@tanstack/react-query';
import { type WorkflowDetail, api } from '../api.ts';
import { ErrorText } from '../primitives/error-text.tsx';
import { JsonTree } from '../primitives/json-tree.tsx';
import { Loading } from '../primitives/loading.tsx';
import { Tabs } from '../primitives/tabs.tsx';
import { Ago } from '../primitives/time.tsx';
import { versionIn } from '../primitives/version-choice.tsx';
import { Link, go, setSearch, useSearch } from '../router.tsx';
import { CompareVersions } from './compare-versions.tsx';
import { DefinitionGraph } from './definition-graph.tsx';
import { PublishAgain } from './publish-again.tsx';
import { StartRun } from './start-run.tsx';
import { VersionList } from './version-list.tsx';

const tabs = ['Graph', 'Versions', 'Compare', 'Definition'] as const;

export function WorkflowView({ name }: { readonly name: string }): ReactNode {
  const version = versionIn(useSearch());
  const workflow = useQuery({
    queryKey: ['workflow', name, version ?? 'latest'],
    queryFn: ({ signal }) => api.workflow(name, version, signal),
    placeholderData: (previous) => previous,
  });
  if (workflow.data !== undefined) return <Content workflow={workflow.data} />;
  return workflow.error === null ? <Loading /> : <ErrorText error={workflow.error} onRetry={() => void workflow.refetch()} />;
}

function Content({ workflow }: { readonly workflow: WorkflowDetail }): ReactNode {
  const search = useSearch();
  const tab = tabs.find((each) => each.toLowerCase() === search.get('tab')) ?? 'Graph';
  return (
    <article aria-labelledby="workflow-title">
      <Head workflow={workflow} />
      <Tabs
        label="Views of the workflow"
        tabs={tabs}
        tab={tab}
        onSelect={(next) => setSearch({ tab: next.toLowerCase() })}
        {...(workflow.latestVersion > 1 ? { counts: { Versions: workflow.latestVersion } } : {})}
      />
      <div role="tabpanel" id="view" aria-labelledby={`tab-${tab}`}>
        <View tab={tab} workflow={workflow} />
      </div>
    </article>
  );
}

function Head({ workflow }: { readonly workflow: WorkflowDetail }): ReactNode {
  const { name, version, latestVersion } = workflow;
  const [open, setOpen] = useState<'start' | 'publish' | undefined>();
  const close = (): void => setOpen(undefined);
  return (
    <>
      <nav aria-label="Path" className="crumbs">
        <Link to="/workflows">Workflows</Link>
      </nav>
      <div className="page-head">
        <h1 id="workflow-title">
          <bdi>{name}</bdi> <span className="dim">v{version}</span>
        </h1>
        {version === latestVersion ? (
          <span className="pill good small">latest</span>
        ) : (
          <span className="pill wait small">the latest is v{latestVersion}</span>
        )}
        <span className="actions end">
          <button type="button" className="primary" onClick={() => setOpen('start')} disabled={workflow.archivedAt !== undefined}>
            Start a run…
          </button>
          <button type="button" onClick={() => go(`/workflows/${encodeURIComponent(name)}/edit`)}>
            Edit
          </button>
          {version === latestVersion ? null : (
            <button type="button" onClick={() => setOpen('publish')}>
              Publish v{version} again…
            </button>
          )}
        </span>
      </div>
      <Facts workflow={workflow} />
      {open === 'start' ? <StartRun workflow={workflow} onClose={close} /> : null}
      {open === 'publish' ? <PublishAgain workflow={workflow} onClose={close} /> : null}
    </>
  );
}

const Facts = ({ workflow }: { readonly workflow: WorkflowDetail }): ReactNode => (
  <dl className="facts">
    <div>
      <dt>Nodes</dt>
      <dd>{workflow.nodes.length}</dd>
    </div>
    <div>
      <dt>Published</dt>
      <dd>
        <Ago at={workflow.updatedAt} />
      </dd>
    </div>
    {workflow.archivedAt === undefined ? null : (
      <div>
        <dt>Archived</dt>
        <dd>
          <Ago at={workflow.archivedAt} />
        </dd>
      </div>
    )}
    <div>
      <dt>Runs</dt>
      <dd>
        <Link to={`/runs?workflow=${encodeURIComponent(workflow.name)}`}>Show the runs</Link>
      </dd>
    </div>
  </dl>
);

function View({ tab, workflow }: { readonly tab: (typeof tabs)[number]; readonly workflow: WorkflowDetail }): ReactNode {
  if (tab === 'Graph') return <DefinitionGraph workflow={workflow} />;
  if (tab === 'Versions') return <VersionList workflow={workflow} />;
  if (tab === 'Compare') return <CompareVersions workflow={workflow} />;
  const { nodes, edges, options } = workflow;
  return (
    <section className="card">
      <JsonTree value={{ nodes, edges, options }} />
    </section>
  );
}
