/**
 * Stops a test run and deletes every trace of it, and of the runs that it called. First it is cancelled, so that nothing more is
 * decided; its log and its head go last, so the next request finishes what a process that died left undone.
 */
import { firstCommit, type RunAddress, type RunId } from '../../engine/ids.ts';
import type { Commit } from '../../engine/log/commit.ts';
import { isTestRun } from '../../engine/log/head.ts';
import { cancelRun } from './cancel-run.ts';
import type { Decider } from '../commit/decide-run.ts';
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
  // Read after its end: from then on it calls no other run, so none is missed here.
  const fold = await readRunFold(deps, run);
  // Another request has stopped it meanwhile.
  if (fold === undefined) return { kind: 'stopped' };
  const commits = [head.commit, ...(await readCommits(deps, fold, firstCommit))];
  await removeAllWaits(deps, run, commits);
  // Before its own log, which alone says what it called. Code of a deployment, which stays, is no test run.
  for (const childRunId of childRunsIn(commits)) await stopTestRun(decider, { ...run, runId: childRunId });
  await deleteRunData(deps, head);
  return { kind: 'stopped' };
}

const childRunsIn = (commits: readonly Commit[]): readonly RunId[] =>
  commits.flatMap(({ events }) => events.flatMap((event) => (event.type === 'SUBFLOW_CALLED' ? [event.childRunId] : [])));
