/** A run: why it waits or failed, its graph or steps, its waterfall, iterations, events and data, and what a person can do about it. */
import { type ReactNode, Suspense, lazy, useCallback, useRef } from 'react';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { ApiError, type Run, api } from '../api.ts';
import { ErrorText } from '../primitives/error-text.tsx';
import { Hidden } from '../primitives/hidden.tsx';
import { Loading } from '../primitives/loading.tsx';
import { Tabs } from '../primitives/tabs.tsx';
import { setSearch, useSearch } from '../router.tsx';
import { isOpenRun } from '../runs/open-run.ts';
import { EventList } from './event-list.tsx';
import { NodePanel } from './node-panel.tsx';
import { RunData } from './run-data.tsx';
import { type RunEvents, useRunEvents } from './run-events.ts';
import { RunHead } from './run-head.tsx';
import { TimelineView } from './timeline-view.tsx';

const RunGraph = lazy(() => import('./run-graph.tsx').then(({ RunGraph: component }) => ({ default: component })));

const tabs = ['Graph', 'Waterfall', 'Iterations', 'Events', 'Data'] as const;
type Tab = (typeof tabs)[number];

/** A busy run has many events a second, and each answer has the whole run. */
const minReadMs = 1_000;

export function RunView({ runId }: { readonly runId: string }): ReactNode {
  const run = useQuery({
    queryKey: ['run', runId, 'all'],
    queryFn: ({ signal }) => api.run(runId, {}, signal),
    // The event stream says when something changed; this finds what a broken stream missed.
    refetchInterval: (query) => (query.state.data === undefined || isOpenRun(query.state.data) ? 10_000 : false),
  });
  if (run.data !== undefined) return <RunContent run={run.data} error={run.error} onRetry={() => void run.refetch()} />;
  return run.error === null ? <Loading /> : <ErrorText error={run.error} onRetry={() => void run.refetch()} />;
}

/** Reads the run again: at once, and then at most once a second. */
function useFreshRun(runId: string): () => void {
  const queries = useQueryClient();
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const readAt = useRef(0);
  return useCallback(() => {
    if (timer.current !== undefined) return;
    timer.current = setTimeout(
      () => {
        timer.current = undefined;
        readAt.current = Date.now();
        void queries.invalidateQueries({ queryKey: ['run', runId] });
      },
      Math.max(0, readAt.current + minReadMs - Date.now()),
    );
  }, [queries, runId]);
}

interface RunContentProps {
  readonly run: Run;
  /** of the last read; the page shows what it read before */
  readonly error: unknown;
  readonly onRetry: () => void;
}

/** The page says that the connection is lost, and its frame that the session has ended. */
const isSaidElsewhere = (error: unknown, { connection }: RunEvents): boolean =>
  connection === 'reconnecting' || (error instanceof ApiError && error.status === 401);

/** Steps of code form no graph. */
const hasGraph = ({ workflowVersion, isTest }: Run): boolean => workflowVersion !== null || isTest === true;
const hasLoop = ({ nodes }: Run): boolean =>
  nodes.some(({ type, iterations, iteration }) => type === 'loop' || iterations !== undefined || iteration !== undefined);

function RunContent({ run, error, onRetry }: RunContentProps): ReactNode {
  const { reader, version } = useRunEvents(run, useFreshRun(run.runId));
  const search = useSearch();
  const shown = tabs.filter((each) => (each === 'Graph' ? hasGraph(run) : each !== 'Iterations' || hasLoop(run)));
  const tab = shown.find((each) => each.toLowerCase() === search.get('tab')) ?? shown[0] ?? 'Data';
  const node = search.get('node') ?? undefined;
  const iteration = search.get('iteration') ?? undefined;
  const select = (nodeId: string, inIteration?: string): void => setSearch({ node: nodeId, iteration: inIteration });
  return (
    <article aria-labelledby="run-title">
      <RunHead run={run} />
      {reader.connection === 'reconnecting' ? (
        <p role="status" className="lost">
          The connection was lost. The page reconnects, and no event is missed.
        </p>
      ) : null}
      {error === null || isSaidElsewhere(error, reader) ? null : <ErrorText error={error} onRetry={onRetry} />}
      <div className={node === undefined ? 'split' : 'split open'}>
        <div className="main">
          <Tabs
            label="Views of the run"
            tabs={shown}
            tab={tab}
            counts={{ Events: reader.last }}
            onSelect={(next) => setSearch({ tab: next.toLowerCase() })}
          />
          <div role="tabpanel" id="view" aria-labelledby={`tab-${tab}`}>
            <View tab={tab} run={run} reader={reader} version={version} node={node} iteration={iteration} onSelect={select} />
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
  readonly reader: RunEvents;
  readonly version: number;
  readonly node: string | undefined;
  readonly iteration: string | undefined;
  readonly onSelect: (nodeId: string, iteration?: string) => void;
}

function View({ tab, run, reader, version, node, iteration, onSelect }: ViewProps): ReactNode {
  if (tab === 'Graph')
    return (
      <Suspense fallback={<Loading />}>
        <RunGraph run={run} selected={node} onSelect={onSelect} />
      </Suspense>
    );
  if (tab === 'Waterfall' || tab === 'Iterations')
    return <TimelineView tab={tab} run={run} reader={reader} version={version} iteration={iteration} onSelect={onSelect} />;
  if (tab === 'Data') return <RunData run={run} />;
  return (
    <>
      {run.payloadsHidden === true ? <Hidden /> : null}
      <EventList reader={reader} version={version} />
    </>
  );
}
