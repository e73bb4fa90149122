/** One run of the list: its state, its workflow, why it is open or failed, and its times. */
import type { ReactNode } from 'react';
import { useQuery } from '@tanstack/react-query';
import { type RunSummary, api } from '../api.ts';
import { durationText } from '../primitives/duration.ts';
import { Status } from '../primitives/status.tsx';
import { Ago, useNow } from '../primitives/time.tsx';
import { Link } from '../router.tsx';
import { isOpenRun } from './open-run.ts';
import { why } from './why.ts';

const pollMs = 6_000;

interface RunRowProps {
  readonly run: RunSummary;
  readonly isSelected: boolean;
  readonly onToggle: () => void;
}

export const RunRow = ({ run, isSelected, onToggle }: RunRowProps): ReactNode => (
  <tr className={isSelected ? 'selected' : undefined}>
    <td className="select">
      <input type="checkbox" aria-label={`Select ${run.runId}`} checked={isSelected} onChange={onToggle} />
    </td>
    <td>
      <Status status={run.attention ?? run.status} />
    </td>
    <td>
      <Link to={`/runs/${encodeURIComponent(run.runId)}`} className="name">
        <bdi>{run.workflowName}</bdi>
      </Link>
      <span className="dim small">{run.workflowVersion === null ? '' : ` v${run.workflowVersion}`}</span>
      <code className="dim id" title={run.runId}>
        …{run.runId.slice(-8)}
      </code>
    </td>
    <td className="why">
      {isOpenRun(run) ? (
        <WhyOpen runId={run.runId} />
      ) : run.error === undefined ? null : (
        <>
          <code className="bad">{run.error.code}</code> <bdi>{run.error.message}</bdi>
        </>
      )}
    </td>
    <td className="when">
      <Ago at={run.createdAt} />
    </td>
    <td className="number">{isOpenRun(run) ? <Took from={run.createdAt} /> : tookText(run)}</td>
  </tr>
);

const tookText = ({ createdAt, completedAt }: RunSummary): string =>
  completedAt === undefined ? '' : durationText(Date.parse(completedAt) - Date.parse(createdAt));

const Took = ({ from }: { readonly from: string }): ReactNode => durationText(Math.max(0, useNow() - Date.parse(from)));

/** The sentence of one open run, which its own request answers. A failure of it leaves the list as it is. */
function WhyOpen({ runId }: { readonly runId: string }): ReactNode {
  const now = useNow();
  const { data } = useQuery({
    queryKey: ['run', runId, 'none'],
    queryFn: ({ signal }) => api.run(runId, { resolveData: 'none' }, signal),
    refetchInterval: pollMs,
  });
  return <bdi>{data === undefined ? '' : why(data, now)}</bdi>;
}
