/**
 * Reads a long log in windows, for paged listings. A reader holds one window in memory, and can start near an event far from the
 * log's first commit.
 */
import { type CommitNo, type RunAddress, commitNo, firstCommit } from '../../engine/ids.ts';
import type { Commit } from '../../engine/log/commit.ts';
import type { Deps } from '../deps.ts';
import { untilFirstGap } from './read-run-fold.ts';

export interface LogWindow {
  /** consecutive, in order */
  readonly commits: readonly Commit[];
  /** the read returned commits after a gap: the log continues beyond this window */
  readonly hasGap: boolean;
}

/** Minimum size of a window, in commits. */
const minWindowCommits = 100;
/** A window has as many commits as the page has events, within these two limits. */
const maxWindowCommits = 500;

/** Yields the log after `from` in windows. The last window ends at the end of the log, or at the first gap. */
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

/** Up to this event the log is read from its start: that is one query, and a binary search would take about twelve. */
const maxEventsReadFromStart = 1_000;

/**
 * Finds a commit shortly before the event that follows event `after`, by binary search. Commits without an event are rare, so a
 * commit's number is hardly ever larger than the ids of its events. Each of them makes the commit that is found one earlier.
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
