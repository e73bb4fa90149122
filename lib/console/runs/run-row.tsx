/** One run of the list: its state, its workflow, why it is open or failed, and its times. */
import type { ReactNode } from 'react';
import { useQuery } from '@tanstack/react-query';
import { type RunSummary, api } from '../api.ts';
import { durationText } from '../primitives/duration.ts';
import { Status } from '../primitives/status.tsx';
import { Ago, useNow } from '../primitives/time.tsx';
import { Link } from '../router.tsx';
import { isOpenRun } from './open-run.ts';
import type { Selection } from './selection.ts';
import { stateOf, why } from './why.ts';

const pollMs = 6_000;

interface RunRowProps {
  readonly run: RunSummary;
  readonly selection?: Selection;
}

export function RunRow(props: RunRowProps): ReactNode {
  return isOpenRun(props.run) ? (
    <OpenRow {...props} />
  ) : (
    <Row {...props} state={props.run.status} why={<Failure run={props.run} />} />
  );
}

/** The sentence of one open run, which its own request answers. A failure of it leaves the list as it is. */
function OpenRow(props: RunRowProps): ReactNode {
  const now = useNow();
  const { runId, attention, status } = props.run;
  const { data } = useQuery({
    queryKey: ['run', runId, 'none'],
    queryFn: ({ signal }) => api.run(runId, { resolveData: 'none' }, signal),
    refetchInterval: pollMs,
  });
  const state = data === undefined ? (attention ?? status) : stateOf(data);
  return <Row {...props} state={state} why={<bdi>{data === undefined ? '' : why(data, now)}</bdi>} />;
}

const Failure = ({ run: { error } }: { readonly run: RunSummary }): ReactNode =>
  error === undefined ? null : (
    <>
      <code className="bad">{error.code}</code> <bdi>{error.message}</bdi>
    </>
  );

interface RowProps extends RunRowProps {
  readonly state: string;
  readonly why: ReactNode;
}

const Row = ({ run, selection, state, why: reason }: RowProps): ReactNode => (
  <tr className={selection?.selected.has(run.runId) === true ? 'selected' : undefined}>
    {selection === undefined ? null : (
      <td className="select">
        <input
          type="checkbox"
          aria-label={`Select ${run.runId}`}
          // The program that executes the run cancels it and runs it again, not the service.
          disabled={run.isExternal === true}
          checked={selection.selected.has(run.runId)}
          onChange={() => selection.onToggle(run.runId)}
        />
      </td>
    )}
    <td className="state">
      <Status status={state} />
    </td>
    <td className="workflow">
      <Link to={`/runs/${encodeURIComponent(run.runId)}`} className="name">
        <bdi>{run.workflowName}</bdi>
      </Link>
      <span className="dim small">{run.workflowVersion === null ? '' : ` v${run.workflowVersion}`}</span>
      <code className="dim id" title={run.runId}>
        …{run.runId.slice(-8)}
      </code>
    </td>
    <td className="why">{reason}</td>
    <td className="when">
      <Ago at={run.createdAt} />
    </td>
    <td className="number">{isOpenRun(run) ? <Took from={run.createdAt} /> : tookText(run)}</td>
  </tr>
);

const tookText = ({ createdAt, completedAt }: RunSummary): string =>
  completedAt === undefined ? '' : durationText(Date.parse(completedAt) - Date.parse(createdAt));

const Took = ({ from }: { readonly from: string }): ReactNode => durationText(Math.max(0, useNow() - Date.parse(from)));
