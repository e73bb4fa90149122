/** One of two compared runs: its state, its times, and why it is open or failed. */
import type { ReactNode } from 'react';
import type { Run } from '../api.ts';
import { durationText } from '../primitives/duration.ts';
import { Status } from '../primitives/status.tsx';
import { Ago, useNow } from '../primitives/time.tsx';
import { Link } from '../router.tsx';
import { explain, stateOf } from '../runs/why.ts';

export function Side({ name, run }: { readonly name: string; readonly run: Run }): ReactNode {
  const reason = explain(run, useNow());
  return (
    <section className="card" aria-label={`Run ${name}`}>
      <p className="compare-side">
        <b>{name}</b>
        <Link to={`/runs/${encodeURIComponent(run.runId)}`} title={run.runId}>
          <bdi>{run.workflowName}</bdi>
          {run.workflowVersion === null ? '' : ` v${run.workflowVersion}`} …{run.runId.slice(-8)}
        </Link>
        <Status status={stateOf(run)} />
      </p>
      <p className="dim">
        Created <Ago at={run.createdAt} />
        {run.completedAt === undefined
          ? ', open'
          : `, took ${durationText(Date.parse(run.completedAt) - Date.parse(run.createdAt))}`}
        {run.rerunOf === undefined ? '' : `, a rerun of …${run.rerunOf.slice(-8)}`}
      </p>
      {reason === undefined ? null : (
        <p>
          {reason.code === undefined ? null : <code className="bad">{reason.code} </code>}
          <bdi>{reason.text}</bdi>
        </p>
      )}
    </section>
  );
}
