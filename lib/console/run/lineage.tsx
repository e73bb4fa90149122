/** The relatives of a run: the run that it repeats, the run that called it, and the runs that it called. */
import type { ReactNode } from 'react';
import type { Run } from '../api.ts';
import { Link } from '../router.tsx';

const maxShown = 10;

const RunLink = ({ runId }: { readonly runId: string }): ReactNode => (
  <Link to={`/runs/${encodeURIComponent(runId)}`} title={runId}>
    …{runId.slice(-8)}
  </Link>
);

export const Lineage = ({ run }: { readonly run: Run }): ReactNode => {
  const children = run.nodes.flatMap(({ childRunId, nodeId }) => (childRunId === undefined ? [] : [{ childRunId, nodeId }]));
  const others = children.length - maxShown;
  return (
    <>
      {run.rerunOf === undefined ? null : (
        <div>
          <dt>Rerun of</dt>
          <dd>
            <RunLink runId={run.rerunOf} />
            {run.rerunFrom === undefined ? '' : ` from ${run.rerunFrom}`}{' '}
            <Link to={`/compare?a=${encodeURIComponent(run.rerunOf)}&b=${encodeURIComponent(run.runId)}`}>Compare</Link>
          </dd>
        </div>
      )}
      {run.calledBy === undefined ? null : (
        <div>
          <dt>Called by</dt>
          <dd>
            <RunLink runId={run.calledBy.runId} /> at {run.calledBy.nodeId}
          </dd>
        </div>
      )}
      {run.startedBy === undefined ? null : (
        <div>
          <dt>Started by</dt>
          <dd>
            trigger {run.startedBy.trigger}
            {run.startedBy.messageId === undefined ? null : (
              <>
                , message <code>{run.startedBy.messageId}</code>
              </>
            )}
          </dd>
        </div>
      )}
      {children.length === 0 ? null : (
        <div>
          <dt>Called</dt>
          <dd>
            {children.slice(0, maxShown).map(({ childRunId, nodeId }) => (
              <span key={childRunId}>
                <RunLink runId={childRunId} /> at {nodeId}{' '}
              </span>
            ))}
            {others > 0 ? `and ${others} more` : ''}
          </dd>
        </div>
      )}
    </>
  );
};
