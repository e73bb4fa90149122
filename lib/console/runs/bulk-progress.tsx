/** How far the work on several runs is, and each run for which it failed. */
import { type ReactNode, useState } from 'react';
import { useQueryClient } from '@tanstack/react-query';
import { Link } from '../router.tsx';
import { type BulkFailure, forEachRun } from './bulk.ts';

/** Does the work once for each run. A repeated confirmation does it only for the `left` runs, for which it failed. */
export function useBulk(runIds: readonly string[], work: (runId: string, form: FormData) => Promise<unknown>) {
  const queries = useQueryClient();
  const [open, setOpen] = useState(runIds);
  const [done, setDone] = useState(0);
  const [failures, setFailures] = useState<readonly BulkFailure[]>([]);
  const run = async (form: FormData): Promise<void> => {
    setFailures([]);
    setDone(0);
    const failed = await forEachRun(open, (runId) => work(runId, form), setDone);
    await queries.invalidateQueries({ predicate: ({ queryKey: [name] }) => name === 'run' || name === 'runs' });
    if (failed.length === 0) return;
    setFailures(failed);
    setOpen(failed.map(({ runId }) => runId));
    setDone(0);
    throw new Error(`${failed.length} of ${open.length} failed. Confirm again to repeat only these.`);
  };
  return { run, left: open.length, progress: <BulkProgress total={open.length} done={done} failures={failures} /> };
}

interface BulkProgressProps {
  readonly total: number;
  readonly done: number;
  readonly failures: readonly BulkFailure[];
}

const BulkProgress = ({ total, done, failures }: BulkProgressProps): ReactNode => (
  <>
    {total > 1 && done > 0 ? (
      <p role="status">
        <progress aria-label="Progress" max={total} value={done} /> {done} of {total}
      </p>
    ) : null}
    {failures.length === 0 ? null : (
      <ul className="bulk-failures" aria-label="Failures">
        {failures.map(({ runId, error }) => (
          <li key={runId}>
            <Link to={`/runs/${encodeURIComponent(runId)}`}>…{runId.slice(-8)}</Link>{' '}
            {error instanceof Error ? error.message : 'It failed.'}
          </li>
        ))}
      </ul>
    )}
  </>
);
