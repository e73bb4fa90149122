/**
 * A message of a graph run carries the run with its log where both are small and this process knows them. Then the worker need not read what
 * was written a moment before. If another process has committed since, the first put of the worker shows it. Before a node with side effects,
 * the worker reads what was committed since (docs/decisions/messages-with-their-runs.md).
 */
import type { RunAddress } from '../../engine/ids.ts';
import type { Commit } from '../../engine/log/commit.ts';
import { type RunCreation, creationOf, firstProjection } from '../../engine/log/head.ts';
import { type Instant, between, seconds } from '../../engine/time.ts';
import type { CarriedRun, NodeJob, ReconciledTask } from '../../ports/jobs.ts';
import type { Deps } from '../deps.ts';
import { type RunFold, advanceFold, fromFirstCommit } from './read-run-fold.ts';

/**
 * Maximum size of a carried run, in bytes of its JSON. SQS bills 64 KB of a request as one request. A request has at most ten messages, or
 * one message of ten jobs, and a job without its run is below 1 KB.
 */
export const maxCarriedBytes = 5_120;

/**
 * How long a worker relies on it: as long as a worker that executes a node takes to notice that the run was cancelled
 * (`cancelCheckInterval`). The worker reads the log for an older message.
 */
export const maxCarriedAge = seconds(5);

/** The run as of its latest commit, which this process has put: another process cannot know whether its jobs were sent or executed before. */
export function carriedRunOf({
  head,
  stored = head,
  shortLog = [],
  state,
}: Pick<RunFold, 'head' | 'stored' | 'shortLog' | 'state'>): CarriedRun | undefined {
  // A test run is deleted when it ends, so its workers read the log.
  if (stored.kind !== 'graph' || stored.isTest === true || shortLog.length === 0) return undefined;
  // Beside other open nodes, other workers commit too: the end of one can end the others.
  if (state.open.size > 1) return undefined;
  const carried: CarriedRun = { creation: creationOf(stored), commits: shortLog.slice(1) };
  return isSmall(carried) ? carried : undefined;
}

const isSmall = (carried: object): boolean => Buffer.byteLength(JSON.stringify(carried)) <= maxCarriedBytes;

/** The commits of a run after its first, if they are few and small, for a process that has the creation of the run. */
export function carriedCommitsOf({ shortLog = [] }: Pick<RunFold, 'shortLog'>): readonly Commit[] | undefined {
  const commits = shortLog.slice(1);
  return shortLog.length > 0 && isSmall(commits) ? commits : undefined;
}

/** The run that another process has read or written. */
export function foldOfCarried(
  { log }: Pick<Deps, 'log'>,
  { creation, commits }: { readonly creation: RunCreation; readonly commits: readonly Commit[] },
): RunFold {
  log.recognize(creation);
  const fold = fromFirstCommit({ ...creation, projection: firstProjection });
  for (const commit of commits) advanceFold(fold, commit);
  return fold;
}

/** The run of the task, if its log came with it and was written a moment ago. */
export function foldOfTask(
  deps: Pick<Deps, 'clock' | 'log'>,
  { job: { creation, commit }, commits }: ReconciledTask,
): RunFold | undefined {
  const last = commits?.at(-1) ?? creation.commit;
  const isWhole = commits !== undefined && last.number === commit;
  return isWhole && isRecent(last, deps.clock.now()) ? foldOfCarried(deps, { creation, commits }) : undefined;
}

const isRecent = ({ at }: Pick<Commit, 'at'>, now: Instant): boolean => between(at, now) <= maxCarriedAge;

/** The job for a message that is sent again: by then the run may have ended. */
export function withoutRun({ carried: _carried, ...job }: NodeJob): NodeJob {
  return job;
}

/**
 * The run that the message carries, if the worker may begin with it.
 * A message of the delay queue is not believed: deployed code may send to it. A redelivered one follows a worker that may have committed.
 */
export function trustedRun(
  { carried, commit, run, resend, slowLane }: NodeJob,
  { isRedelivered, isDelayed = false }: { readonly isRedelivered: boolean; readonly isDelayed?: boolean },
  now: Instant,
): CarriedRun | undefined {
  if (carried === undefined || isRedelivered || isDelayed || resend > 0 || slowLane !== undefined) return undefined;
  const { creation, commits } = carried;
  const last = commits.at(-1) ?? creation.commit;
  const isOfJob = last.number === commit && isSameRun(creation.address, run);
  return isOfJob && isRecent(last, now) ? carried : undefined;
}

const isSameRun = (one: RunAddress, other: RunAddress): boolean =>
  one.runId === other.runId && one.projectId === other.projectId && one.environment === other.environment;
