/**
 * Reading a run's log. A query is no snapshot: a reader stops at the first missing number and reads again,
 * so that nobody ever folds over a hole.
 */
import { type CommitNo, type RunAddress, firstCommit } from '../../engine/ids.ts';
import { invariant } from '../../engine/invariant.ts';
import type { Commit } from '../../engine/log/commit.ts';
import { type RunState, applyCommit, emptyState, isTerminal } from '../../engine/log/fold.ts';
import { isTombstone } from '../../engine/log/tombstone.ts';
import type { Head } from '../../engine/log/head.ts';
import { shouldTakeSnapshot } from '../../engine/log/stored-fold.ts';
import { Unavailable } from '../../ports/unavailable.ts';
import type { Deps } from '../deps.ts';
import { readSnapshot } from './snapshots.ts';

/** How often a torn answer is asked for again before the message is left to come back. */
const maxReads = 5;

/** Whoever has no bucket reads the log where a snapshot lies there. */
export type RunReadDeps = Pick<Deps, 'log'> & Partial<Pick<Deps, 'blobs' | 'settings'>>;

/** A run and its fold, as of the last read. The state is changed in place as commits come. */
export interface RunFold {
  readonly head: Head;
  readonly state: RunState;
  /** the commit of the last snapshot known; 0 without one */
  snapshotAt: number;
}

/**
 * The run and all its commits folded; undefined where there is no such run in this scope.
 * @param minCommit a commit known to exist: a log that may still be short is read without asking for a snapshot.
 * What came after it is read even so: a duplicate of a job then finds out before it runs a node a second time.
 */
export async function readRunFold(deps: RunReadDeps, run: RunAddress, minCommit?: CommitNo): Promise<RunFold | undefined> {
  const mayBeLong = minCommit === undefined || shouldTakeSnapshot(minCommit, 0, deps.settings?.firstSnapshotAt);
  // A log without a snapshot is read from its first commit: that can be asked for before anybody has seen the head.
  const [head, snapshot, first] = await Promise.all([
    deps.log.head(run),
    mayBeLong ? readSnapshot(deps, run) : undefined,
    mayBeLong ? undefined : deps.log.commitsAfter(run, firstCommit),
  ]);
  if (head === undefined) return undefined;
  const fold = snapshot === undefined ? fromFirstCommit(head) : { head, state: snapshot, snapshotAt: snapshot.asOf };
  if (first === undefined || !foldContiguous(fold, first)) await readTail(deps, fold);
  return fold;
}

function fromFirstCommit(head: Head): RunFold {
  const state = emptyState();
  applyCommit(state, head.commit);
  return { head, state, snapshotAt: 0 };
}

/**
 * Folds what was committed since, and says how many commits that were.
 * @param onCommit is shown each commit before it is folded
 */
export async function readTail(
  deps: Pick<Deps, 'log'>,
  fold: RunFold,
  onCommit: (commit: Commit) => void = () => {},
): Promise<number> {
  const before = fold.state.asOf;
  for (let read = 1; read <= maxReads; read += 1) {
    const after = fold.state.asOf;
    invariant(after !== 0, 'a fold without its first commit has no tail');
    const found = await deps.log.commitsAfter(fold.head.address, after);
    if (foldContiguous(fold, found, onCommit)) return fold.state.asOf - before;
  }
  throw new Unavailable('a log without a hole');
}

/** The commits behind `from` that the fold was made of, every one: a read that has a hole is no answer to what was ever said. */
export async function readCommits(
  { log }: Pick<Deps, 'log'>,
  { head, state: { asOf } }: RunFold,
  from: CommitNo,
): Promise<readonly Commit[]> {
  for (let read = 1; read <= maxReads; read += 1) {
    const contiguous = untilFirstGap(await log.commitsAfter(head.address, from), from + 1);
    if ((contiguous.at(-1)?.number ?? from) >= asOf) return contiguous;
  }
  throw new Unavailable('a log without a hole');
}

/** Folds what follows without a hole. @returns whether that is all of it */
function foldContiguous(fold: RunFold, found: readonly Commit[], onCommit: (commit: Commit) => void = () => {}): boolean {
  const contiguous = untilFirstGap(found, fold.state.asOf + 1);
  for (const commit of contiguous) {
    // In a run that was forgotten each slot says that it is over: the first is enough.
    if (isTombstone(commit) && isTerminal(fold.state.progress)) break;
    onCommit(commit);
    applyCommit(fold.state, commit);
  }
  return contiguous.length === found.length;
}

/** The commits that follow each other from `first` on. */
export function untilFirstGap(commits: readonly Commit[], first: number): readonly Commit[] {
  const gap = commits.findIndex((commit, index) => commit.number !== first + index);
  return gap === -1 ? commits : commits.slice(0, gap);
}
