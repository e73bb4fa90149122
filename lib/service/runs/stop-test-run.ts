/**
 * Stops a test run and deletes all data of it and of its child runs. Cancels the run first, so that nothing more is decided. Deletes its
 * log and its head last, so that a repeated request completes the deletion after a crash.
 */
import { firstCommit, type RunAddress, type RunId } from '../../engine/ids.ts';
import type { Commit } from '../../engine/log/commit.ts';
import { isTestRun } from '../../engine/log/head.ts';
import { cancelRun } from './cancel-run.ts';
import type { Decider } from '../decider.ts';
import { deleteRunData } from './delete-run-data.ts';
import { removeAllWaits } from '../commit/register-waits.ts';
import { readCommits, readRunFold } from '../run-log/read-run-fold.ts';

export type StopResult = { readonly kind: 'stopped' } | { readonly kind: 'not_found' } | { readonly kind: 'not_a_test_run' };

export async function stopTestRun(decider: Decider, run: RunAddress): Promise<StopResult> {
  const { deps } = decider;
  const head = await deps.log.head(run);
  if (head === undefined) return { kind: 'not_found' };
  if (!isTestRun(head)) return { kind: 'not_a_test_run' };
  await cancelRun(decider, run);
  // Read after the run's end: an ended run calls no further runs.
  const fold = await readRunFold(deps, run);
  // A concurrent request has already deleted the run.
  if (fold === undefined) return { kind: 'stopped' };
  const commits = [head.commit, ...(await readCommits(deps, fold, firstCommit))];
  await removeAllWaits(deps, run, commits);
  // Deletes the children first, because only the run's log names them. Child runs of deployed code are not test runs and stay.
  for (const childRunId of childRunsIn(commits)) await stopTestRun(decider, { ...run, runId: childRunId });
  await deleteRunData(deps, head);
  return { kind: 'stopped' };
}

const childRunsIn = (commits: readonly Commit[]): readonly RunId[] =>
  commits.flatMap(({ events }) => events.flatMap((event) => (event.type === 'SUBFLOW_CALLED' ? [event.childRunId] : [])));
