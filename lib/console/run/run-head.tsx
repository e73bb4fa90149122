/** The head of a run's page: its state and times, why it is open or failed, what a person can do about it, and its relatives. */
import type { ReactNode } from 'react';
import type { Run } from '../api.ts';
import { CopyButton } from '../primitives/copy-button.tsx';
import { durationText } from '../primitives/duration.ts';
import { Shape, Status, toneOf } from '../primitives/status.tsx';
import { Ago, useNow } from '../primitives/time.tsx';
import { Link, setSearch, useSearch } from '../router.tsx';
import { isOpenRun } from '../runs/open-run.ts';
import { explain, stateOf } from '../runs/why.ts';
import { CauseLine } from './cause-line.tsx';
import { Lineage } from './lineage.tsx';
import { NodeActions } from './node-actions.tsx';
import { RunActions } from './run-actions.tsx';
import { RunCost } from './run-cost.tsx';

export function RunHead({ run }: { readonly run: Run }): ReactNode {
  const now = useNow();
  const state = stateOf(run);
  const version = run.workflowVersion ?? run.version;
  const took = (run.completedAt === undefined ? now : Date.parse(run.completedAt)) - Date.parse(run.createdAt);
  return (
    <>
      <nav aria-label="Path" className="crumbs">
        <Link to="/runs">Runs</Link> <span aria-hidden="true">/</span>{' '}
        <Link to={`/runs?workflow=${encodeURIComponent(run.workflowName)}`}>
          <bdi>{run.workflowName}</bdi>
        </Link>
      </nav>
      <div className="page-head">
        <h1 id="run-title">
          <bdi>{run.workflowName}</bdi>
        </h1>
        <span className={`pill ${toneOf(state)}`}>
          <Status status={state} />
        </span>
        <RunActions run={run} />
      </div>
      <dl className="facts">
        <div>
          <dt>Run</dt>
          <dd>
            <code>{run.runId}</code> <CopyButton text={run.runId} label="Copy" />
          </dd>
        </div>
        {version === null ? null : (
          <div>
            <dt>Version</dt>
            <dd>
              <bdi>{version}</bdi>
            </dd>
          </div>
        )}
        <div>
          <dt>Created</dt>
          <dd>
            <Ago at={run.createdAt} />
          </dd>
        </div>
        <div>
          <dt>{isOpenRun(run) ? 'Open for' : 'Duration'}</dt>
          <dd>{durationText(Math.max(0, took))}</dd>
        </div>
        <RunCost run={run} />
        <Lineage run={run} />
      </dl>
      <Reason run={run} now={now} />
      <CauseLine run={run} />
    </>
  );
}

/** The sentence, and what can be done about it at once. */
function Reason({ run, now }: { readonly run: Run; readonly now: number }): ReactNode {
  const reason = explain(run, now);
  const shownNode = useSearch().get('node');
  if (reason === undefined) return null;
  const { text, nodeId, iteration, code } = reason;
  const node = run.nodes.find((each) => each.nodeId === nodeId && each.iteration === iteration);
  const status = stateOf(run);
  return (
    <div className={`reason ${toneOf(status)}`} role="status">
      <Shape status={status} />
      <p>
        {code === undefined ? null : <code className="code">{code}</code>}
        <bdi>{text}</bdi>
      </p>
      {nodeId === undefined || nodeId === shownNode ? null : (
        <span className="actions">
          <button type="button" onClick={() => setSearch({ node: nodeId, iteration })}>
            Show {nodeId}
          </button>
          <NodeActions run={run} nodeId={nodeId} node={node} />
        </span>
      )}
    </div>
  );
}
