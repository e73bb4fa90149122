/**
 * Stops a test run and takes away every trace of it, and of the runs that it called. First it is cancelled, so that nothing more is decided; then go, in this
 * order, what others would find it by and what only it leads to; its log and its head go last. So whoever dies in between is
 * finished by the next to ask.
 */
import { firstCommit, type RunAddress, type RunId } from '../engine/ids.ts';
import type { Commit } from '../engine/log/commit.ts';
import { applyCommit, emptyState } from '../engine/log/fold.ts';
import { type Head, isTestRun } from '../engine/log/head.ts';
import { durationMs } from '../engine/time.ts';
import { cancelRun } from './cancel-run.ts';
import { graphCarried } from './carried-graph.ts';
import type { Decider } from './decide-run.ts';
import type { Deps } from './deps.ts';
import { placeJob } from './jobs-of.ts';
import { leaveEveryWait } from './keep-waits.ts';
import { commitsOf, readRun } from './read-log.ts';
import { testEndpoint } from './test-workflow.ts';

export type StopAnswer = { readonly kind: 'stopped' } | { readonly kind: 'not_found' } | { readonly kind: 'not_a_test_run' };

export async function stopTestRun(decider: Decider, run: RunAddress): Promise<StopAnswer> {
  const { deps } = decider;
  const head = await deps.log.head(run);
  if (head === undefined) return { kind: 'not_found' };
  if (!isTestRun(head)) return { kind: 'not_a_test_run' };
  await cancelRun(decider, run);
  // As of its end, after which it calls nobody: a call that was overlooked here would be found by nobody any more.
  const fold = await readRun(deps, run);
  // Whoever stopped it beside this one has got to the end.
  if (fold === undefined) return { kind: 'stopped' };
  const commits = [head.commit, ...(await commitsOf(deps, fold, firstCommit))];
  await leaveEveryWait(deps, run, commits);
  // Before its own log, which alone says what it called. Code of a deployment, which stays, is no test run.
  for (const childRunId of calledIn(commits)) await stopTestRun(decider, { ...run, runId: childRunId });
  await giveUpPlace(deps, head);
  await deps.blobs.removeAll(run, `${run.runId}/`);
  const graph = await graphCarried(deps, run);
  if (graph !== undefined) await deps.reservations.release(run, testEndpoint, graph.reservedUnder, head.commit.nonce);
  await deps.index.forgetDue(run);
  await deps.log.forget(run, head.expiresAt);
  return { kind: 'stopped' };
}

const calledIn = (commits: readonly Commit[]): readonly RunId[] =>
  commits.flatMap(({ events }) => events.flatMap((event) => (event.type === 'SUBFLOW_CALLED' ? [event.childRunId] : [])));
/** It was told when the run ended; this is for the word that was lost, and before nobody knows of the run any more. */
async function giveUpPlace(deps: Deps, head: Head): Promise<void> {
  const state = emptyState();
  applyCommit(state, head.commit);
  if (state.admission !== undefined) await deps.jobs.sendLater(placeJob(head, state.admission), durationMs(0));
}
