/**
 * Reading a long log a part at a time: whoever wants a page of it holds no more of it in memory than that, and does not begin
 * at its first commit where that is far away.
 */
import { type CommitNo, type RunAddress, commitNo, firstCommit } from '../../engine/ids.ts';
import type { Commit } from '../../engine/log/commit.ts';
import type { Deps } from '../deps.ts';
import { untilFirstGap } from './read-run-fold.ts';

export interface LogWindow {
  /** dense, in order */
  readonly commits: readonly Commit[];
  /** commits were seen behind a hole: there is more than is given now */
  readonly hasGap: boolean;
}

/** Commits of one window, at least. */
const minWindowCommits = 100;
/** A window holds the commits of a page of so many events, where that is more; and never more than this. */
const maxWindowCommits = 500;

/** The log behind a commit, window by window; the last one ends where the log does now, or at its first hole. */
export async function* readWindows(
  { log }: Pick<Deps, 'log'>,
  run: RunAddress,
  { from, events }: { readonly from: CommitNo; readonly events: number },
): AsyncGenerator<LogWindow, void, undefined> {
  const size = Math.max(minWindowCommits, Math.min(events, maxWindowCommits));
  for (let after = from; ;) {
    const found = await log.commitsAfter(run, after, commitNo(after + size));
    const commits = untilFirstGap(found, after + 1);
    const hasGap = commits.length < found.length;
    yield { commits, hasGap };
    if (hasGap || found.length < size) return;
    after = commitNo(after + commits.length);
  }
}

/** Up to here a log is read from its start: that is one query, and a search would be a dozen. */
const maxEventsReadFromStart = 1_000;

/**
 * A commit such that the event after `after` comes behind it, near where that event is. Each commit has an event at least, so
 * none has a number larger than those of its events.
 */
export async function findCommitBefore({ log }: Pick<Deps, 'log'>, run: RunAddress, after: number): Promise<CommitNo> {
  if (after <= maxEventsReadFromStart) return firstCommit;
  let [low, high] = [firstCommit + 1, after];
  while (high - low > minWindowCommits) {
    const middle = Math.ceil((low + high) / 2);
    const [commit] = await log.commitsAfter(run, commitNo(middle - 1), commitNo(middle));
    if (commit?.number === middle && commit.firstEventId <= after) low = middle;
    else high = middle - 1;
  }
  return commitNo(low - 1);
}
