/**
 * Reading a run's log. A query is no snapshot: a reader stops at the first missing number and reads again,
 * so that nobody ever folds over a hole.
 */
import type { RunAddress } from '../engine/ids.ts';
import { invariant } from '../engine/invariant.ts';
import type { Commit } from '../engine/log/commit.ts';
import { type RunState, applyCommit, emptyState } from '../engine/log/fold.ts';
import type { Head } from '../engine/log/head.ts';
import { Unavailable } from '../ports/unavailable.ts';
import type { Deps } from './deps.ts';

/** How often a torn answer is asked for again before the message is left to come back. */
const mostReads = 5;

/** A run and its fold, as of the last read. The state is changed in place as commits come. */
export interface RunFold {
  readonly head: Head;
  readonly state: RunState;
}

/** The run and all its commits folded; undefined where there is no such run in this scope. */
export async function readRun(deps: Pick<Deps, 'log'>, run: RunAddress): Promise<RunFold | undefined> {
  const head = await deps.log.head(run);
  if (head === undefined) return undefined;
  const fold = { head, state: emptyState() };
  applyCommit(fold.state, head.commit);
  await readTail(deps, fold);
  return fold;
}

/** Folds what was committed since, and says how many commits that were. */
export async function readTail(deps: Pick<Deps, 'log'>, fold: RunFold): Promise<number> {
  const before = fold.state.asOf;
  for (let read = 1; read <= mostReads; read += 1) {
    const after = fold.state.asOf;
    invariant(after !== 0, 'a fold without its first commit has no tail');
    const found = await deps.log.commitsAfter(fold.head.address, after);
    const dense = untilFirstHole(found, after + 1);
    for (const commit of dense) applyCommit(fold.state, commit);
    if (dense.length === found.length) return fold.state.asOf - before;
  }
  throw new Unavailable('a log without a hole');
}

/** The commits that follow each other from `first` on. */
function untilFirstHole(commits: readonly Commit[], first: number): readonly Commit[] {
  const hole = commits.findIndex((commit, index) => commit.number !== first + index);
  return hole === -1 ? commits : commits.slice(0, hole);
}
