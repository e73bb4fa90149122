/** A run: why it waits or failed, its graph or steps, its waterfall, events and data, and what a person can do about it. */
import { type ReactNode, Suspense, lazy, useState } from 'react';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { type Run, api } from '../api.ts';
import { durationText } from '../primitives/duration.ts';
import { ErrorText } from '../primitives/error-text.tsx';
import { JsonTree } from '../primitives/json-tree.tsx';
import { Status } from '../primitives/status.tsx';
import { Ago, useNow } from '../primitives/time.tsx';
import { Link, setSearch, useSearch } from '../router.tsx';
import { why } from '../runs/why.ts';
import { Actions } from './actions.tsx';
import { EventList } from './event-list.tsx';
import { NodePanel } from './node-panel.tsx';
import { useRunEvents } from './run-events.ts';
import { Waterfall } from './waterfall.tsx';

const RunGraph = lazy(() => import('./run-graph.tsx').then(({ RunGraph: component }) => ({ default: component })));

const tabs = ['Graph', 'Waterfall', 'Events', 'Data'] as const;
type Tab = (typeof tabs)[number];

export const isOpenRun = ({ status }: Pick<Run, 'status'>): boolean => status === 'pending' || status === 'running';

export function RunView({ runId }: { readonly runId: string }): ReactNode {
  const queries = useQueryClient();
  const run = useQuery({
    queryKey: ['run', runId, 'all'],
    queryFn: ({ signal }) => api.run(runId, {}, signal),
    // The event stream says when something changed; this finds what a broken stream missed.
    refetchInterval: (query) => (query.state.data === undefined || isOpenRun(query.state.data) ? 10_000 : false),
  });
  const events = useRunEvents(runId, () => void queries.invalidateQueries({ queryKey: ['run', runId] }));
  if (run.data === undefined)
    return run.error === null ? (
      <p aria-busy="true">Loading…</p>
    ) : (
      <ErrorText error={run.error} onRetry={() => void run.refetch()} />
    );
  return <RunContent run={run.data} events={events} />;
}

function RunContent({ run, events }: { readonly run: Run; readonly events: ReturnType<typeof useRunEvents> }): ReactNode {
  const search = useSearch();
  const hasGraph = run.workflowVersion !== null;
  const shown = tabs.filter((tab) => hasGraph || tab !== 'Graph');
  const tab: Tab = shown.find((each) => each.toLowerCase() === search.get('tab')) ?? shown[0] ?? 'Waterfall';
  const node = search.get('node') ?? undefined;
  const iteration = search.get('iteration') ?? undefined;
  const select = (nodeId: string, inIteration?: string): void => setSearch({ node: nodeId, iteration: inIteration });
  return (
    <article aria-labelledby="run-title">
      <RunHead run={run} />
      <div className={node === undefined ? 'split' : 'split open'}>
        <div>
          <div role="tablist" aria-label="Views of the run">
            {shown.map((each) => (
              <button
                key={each}
                type="button"
                role="tab"
                id={`tab-${each}`}
                aria-controls="view"
                aria-selected={each === tab}
                tabIndex={each === tab ? 0 : -1}
                onClick={() => setSearch({ tab: each.toLowerCase() })}
                onKeyDown={({ key }) => {
                  const step = key === 'ArrowRight' ? 1 : key === 'ArrowLeft' ? -1 : 0;
                  if (step === 0) return;
                  const next = shown[(shown.indexOf(each) + step + shown.length) % shown.length] ?? each;
                  setSearch({ tab: next.toLowerCase() });
                  document.getElementById(`tab-${next}`)?.focus();
                }}
              >
                {each}
                {each === 'Events' ? ` ${run.lastEventId}` : ''}
              </button>
            ))}
          </div>
          <div role="tabpanel" id="view" aria-labelledby={`tab-${tab}`}>
            <View tab={tab} run={run} events={events} node={node} onSelect={select} />
          </div>
        </div>
        {node === undefined ? null : (
          <NodePanel
            run={run}
            nodeId={node}
            iteration={iteration}
            events={events.events}
            onClose={() => setSearch({ node: undefined, iteration: undefined })}
          />
        )}
      </div>
    </article>
  );
}

function RunHead({ run }: { readonly run: Run }): ReactNode {
  const now = useNow();
  const reason = why(run, now);
  const took = (run.completedAt === undefined ? now : Date.parse(run.completedAt)) - Date.parse(run.createdAt);
  return (
    <>
      <div className="head">
        <h1 id="run-title">
          <bdi>{run.workflowName}</bdi>
          {run.workflowVersion === null ? '' : ` v${run.workflowVersion}`}
        </h1>
        <Status status={run.status} />
        <span className="dim">
          <code>{run.runId}</code>, created <Ago at={run.createdAt} />, {isOpenRun(run) ? 'for' : 'took'} {durationText(took)}
        </span>
        <Actions run={run} />
      </div>
      {reason === undefined ? null : (
        <p className="reason" role="status">
          <bdi>{reason}</bdi>
        </p>
      )}
      <Lineage run={run} />
    </>
  );
}

const Lineage = ({ run }: { readonly run: Run }): ReactNode => {
  const children = run.nodes.flatMap(({ childRunId, nodeId }) => (childRunId === undefined ? [] : [{ childRunId, nodeId }]));
  if (run.rerunOf === undefined && run.calledBy === undefined && children.length === 0) return null;
  const link = (runId: string): ReactNode => <Link to={`/runs/${encodeURIComponent(runId)}`}>…{runId.slice(-6)}</Link>;
  return (
    <p className="dim">
      {run.rerunOf === undefined ? null : (
        <>
          Rerun of {link(run.rerunOf)}
          {run.rerunFrom === undefined ? '' : ` from ${run.rerunFrom}`}.{' '}
        </>
      )}
      {run.calledBy === undefined ? null : (
        <>
          Called by {link(run.calledBy.runId)} at {run.calledBy.nodeId}.{' '}
        </>
      )}
      {children.length === 0 ? null : (
        <>
          Called{' '}
          {children.slice(0, 20).map(({ childRunId, nodeId }) => (
            <span key={nodeId}>
              {link(childRunId)} at {nodeId}{' '}
            </span>
          ))}
        </>
      )}
    </p>
  );
};

interface ViewProps {
  readonly tab: Tab;
  readonly run: Run;
  readonly events: ReturnType<typeof useRunEvents>;
  readonly node: string | undefined;
  readonly onSelect: (nodeId: string, iteration?: string) => void;
}

function View({ tab, run, events, node, onSelect }: ViewProps): ReactNode {
  const [hasData, setHasData] = useState(false);
  if (tab === 'Graph')
    return (
      <Suspense fallback={<p aria-busy="true">Loading…</p>}>
        <RunGraph run={run} selected={node} onSelect={onSelect} />
      </Suspense>
    );
  if (tab === 'Waterfall') return <Waterfall run={run} events={events} onSelect={onSelect} />;
  if (tab === 'Events') return <EventList events={events} />;
  return (
    <>
      <h2>Input</h2>
      <Value value={run.input} omitted={run.inputOmitted} />
      <h2>Output</h2>
      {isOpenRun(run) ? <p className="dim">The run has not ended.</p> : <Value value={run.output} omitted={run.outputOmitted} />}
      <button type="button" onClick={() => setHasData(!hasData)} aria-expanded={hasData}>
        Outputs of nodes
      </button>
      {hasData ? <JsonTree value={Object.fromEntries(run.nodes.map(({ nodeId, output }) => [nodeId, output]))} /> : null}
    </>
  );
}

const Value = ({ value, omitted }: { readonly value: unknown; readonly omitted: { readonly bytes: number } | undefined }): ReactNode => {
  if (omitted !== undefined) return <p>{omitted.bytes} bytes: too large for a response of the API.</p>;
  return value === undefined ? <p className="dim">None.</p> : <JsonTree value={value} />;
};
