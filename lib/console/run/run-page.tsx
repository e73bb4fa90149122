/** A run: why it waits or failed, its graph or steps, its waterfall, events and data, and what a person can do about it. */
import { type ReactNode, Suspense, lazy, useEffect } from 'react';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { type Run, api } from '../api.ts';
import { ErrorText } from '../primitives/error-text.tsx';
import { Loading } from '../primitives/loading.tsx';
import { Tabs } from '../primitives/tabs.tsx';
import { setSearch, useSearch } from '../router.tsx';
import { isOpenRun } from '../runs/open-run.ts';
import { EventList } from './event-list.tsx';
import { NodePanel } from './node-panel.tsx';
import { RunData } from './run-data.tsx';
import { type RunEvents, useRunEvents } from './run-events.ts';
import { RunHead } from './run-head.tsx';
import { Waterfall } from './waterfall.tsx';

const RunGraph = lazy(() => import('./run-graph.tsx').then(({ RunGraph: component }) => ({ default: component })));

const tabs = ['Graph', 'Waterfall', 'Events', 'Data'] as const;
type Tab = (typeof tabs)[number];

export function RunView({ runId }: { readonly runId: string }): ReactNode {
  const queries = useQueryClient();
  const run = useQuery({
    queryKey: ['run', runId, 'all'],
    queryFn: ({ signal }) => api.run(runId, {}, signal),
    // The event stream says when something changed; this finds what a broken stream missed.
    refetchInterval: (query) => (query.state.data === undefined || isOpenRun(query.state.data) ? 10_000 : false),
  });
  const events = useRunEvents(runId, () => void queries.invalidateQueries({ queryKey: ['run', runId] }));
  const { data, refetch } = run;
  const last = events.events.at(-1)?.eventId ?? 0;
  // The run can end between its own request and the one for its events.
  useEffect(() => {
    if (data !== undefined && data.lastEventId < last) void refetch();
  }, [data, last, refetch]);
  if (run.data !== undefined) return <RunContent run={run.data} events={events} />;
  return run.error === null ? <Loading /> : <ErrorText error={run.error} onRetry={() => void run.refetch()} />;
}

function RunContent({ run, events }: { readonly run: Run; readonly events: RunEvents }): ReactNode {
  const search = useSearch();
  const shown = run.workflowVersion === null && run.isTest !== true ? tabs.filter((each) => each !== 'Graph') : tabs;
  const tab = shown.find((each) => each.toLowerCase() === search.get('tab')) ?? shown[0] ?? 'Data';
  const node = search.get('node') ?? undefined;
  const iteration = search.get('iteration') ?? undefined;
  const select = (nodeId: string, inIteration?: string): void => setSearch({ node: nodeId, iteration: inIteration });
  return (
    <article aria-labelledby="run-title">
      <RunHead run={run} />
      <div className={node === undefined ? 'split' : 'split open'}>
        <div className="main">
          <Tabs
            label="Views of the run"
            tabs={shown}
            tab={tab}
            counts={{ Events: events.events.length }}
            onSelect={(next) => setSearch({ tab: next.toLowerCase() })}
          />
          <div role="tabpanel" id="view" aria-labelledby={`tab-${tab}`}>
            <View tab={tab} run={run} events={events} node={node} onSelect={select} />
          </div>
        </div>
        {node === undefined ? null : (
          <NodePanel
            run={run}
            nodeId={node}
            iteration={iteration}
            onClose={() => setSearch({ node: undefined, iteration: undefined })}
          />
        )}
      </div>
    </article>
  );
}

interface ViewProps {
  readonly tab: Tab;
  readonly run: Run;
  readonly events: RunEvents;
  readonly node: string | undefined;
  readonly onSelect: (nodeId: string, iteration?: string) => void;
}

function View({ tab, run, events, node, onSelect }: ViewProps): ReactNode {
  if (tab === 'Graph')
    return (
      <Suspense fallback={<Loading />}>
        <RunGraph run={run} selected={node} onSelect={onSelect} />
      </Suspense>
    );
  if (tab === 'Waterfall') return <Waterfall run={run} events={events} onSelect={onSelect} />;
  return tab === 'Events' ? <EventList events={events} /> : <RunData run={run} />;
}
