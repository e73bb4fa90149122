/**
 * Reads and folds a run's log. A DynamoDB query is not a snapshot, so a result may have gaps. The reader stops at the first missing
 * commit number and reads again; it never folds past a gap.
 */
import { type CommitNo, type NodeRef, type RunAddress, commitNo, firstCommit, nodeKey } from '../../engine/ids.ts';
import { invariant } from '../../engine/invariant.ts';
import { type Commit, isTombstone } from '../../engine/log/commit.ts';
import { type RunState, applyCommit, emptyState, isTerminal } from '../../engine/log/fold.ts';
import { type Head, isTestRun, withExtendedDeadline } from '../../engine/log/head.ts';
import type { NodeState } from '../../engine/log/node-state.ts';
import { shouldTakeSnapshot } from '../../engine/log/stored-fold.ts';
import { Unavailable } from '../../ports/unavailable.ts';
import type { Deps } from '../deps.ts';
import { LatestCommits } from './latest-commits.ts';
import { readSnapshot } from './snapshots.ts';

/** Reads that may return a gap before the caller's message is left to redelivery. */
const maxReads = 5;

/** Commits of a log that can be read or sent in one piece: if they are small, a read unit or two. */
const lastOfShortLog = 16;

/** Without `blobs`, the reader ignores a snapshot in the bucket and reads the whole log. */
export type RunReadDeps = Pick<Deps, 'log'> & Partial<Pick<Deps, 'blobs' | 'settings'>>;

/** A run and its fold, as of the last read. New commits change the state in place. */
export interface RunFold {
  /** with the deadline and the expiry as of the last commit; the stored head may have earlier ones */
  head: Head;
  /** as it was read; absent: as `head` */
  readonly stored?: Head;
  readonly state: RunState;
  /** the commit of the last known snapshot; 0 without one */
  snapshotAt: number;
  /** the latest commits of the fold, of a kind that answers with events; absent: not kept any more */
  latest?: LatestCommits | undefined;
  /** all commits of a short log; absent: it is longer, or a snapshot stands for some of them */
  shortLog?: readonly Commit[] | undefined;
}

/**
 * Reads the run and folds all its commits; undefined if this scope has no such run.
 * @param minCommit a commit known to exist. If it is early, the log is probably short, so the reader does not look for a snapshot.
 * The reader still reads all later commits, so that a duplicate job sees that its node has ended.
 */
export async function readRunFold(deps: RunReadDeps, run: RunAddress, minCommit?: CommitNo): Promise<RunFold | undefined> {
  const mayBeLong = minCommit === undefined || shouldTakeSnapshot(minCommit, 0, deps.settings?.firstSnapshotAt);
  // Without a snapshot the log is read from its first commit, so this read need not wait for the head.
  return mayBeLong
    ? readTogether(deps, run, { withSnapshot: true })
    : readTogether(deps, run, { withSnapshot: false, commits: Infinity });
}

/**
 * Reads a run that waits, as `readRunFold`. While it waits its log hardly grows, so of a short one everything is read at once.
 * @param beganIn the commit that began the wait, if it is known
 */
export const readWaitingRun = (deps: RunReadDeps, run: RunAddress, beganIn = Infinity): Promise<RunFold | undefined> =>
  readTogether(deps, run, beganIn < lastOfShortLog ? { withSnapshot: true, commits: lastOfShortLog } : { withSnapshot: true });

/** @param how `commits`: the first commits, up to this number, are read beside the head; absent: they are read after it */
async function readTogether(
  deps: RunReadDeps,
  run: RunAddress,
  { withSnapshot, commits: through }: { readonly withSnapshot: boolean; readonly commits?: number },
): Promise<RunFold | undefined> {
  const [head, snapshot, first] = await Promise.all([
    deps.log.head(run),
    withSnapshot ? readSnapshot(deps, run) : undefined,
    through === undefined
      ? undefined
      : deps.log.commitsAfter(run, firstCommit, through === Infinity ? undefined : commitNo(through)),
  ]);
  if (head === undefined) return undefined;
  const fold = snapshot === undefined ? fromFirstCommit(head) : foldOf(head, snapshot, snapshot.asOf);
  const isWhole = snapshot === undefined && first !== undefined && foldContiguous(fold, first) && fold.state.asOf !== through;
  if (!isWhole) await readTail(deps, fold);
  return fold;
}

/** The run as of its first commit. */
export function fromFirstCommit(head: Head): RunFold {
  const state = emptyState();
  applyCommit(state, head.commit);
  const fold = foldOf(head, state, 0);
  fold.latest?.add(head.commit);
  fold.shortLog = [head.commit];
  return fold;
}

/** A run that its start has prepared and that is not in the log. Its first commit is in its head, and not in the state. */
export const unwrittenFold = (head: Head): RunFold => ({ head, state: emptyState(), snapshotAt: 0 });

const foldOf = (head: Head, state: RunState, snapshotAt: number): RunFold => ({
  head: withExtendedDeadline(head, state.deadlineExtension?.deadlineAt),
  stored: head,
  state,
  snapshotAt,
  ...(head.kind === 'devkit' ? { latest: new LatestCommits() } : {}),
});

/** Folds the next commit. */
export function advanceFold(fold: RunFold, commit: Commit): void {
  applyCommit(fold.state, commit);
  fold.latest?.add(commit);
  if (fold.shortLog !== undefined) fold.shortLog = commit.number <= lastOfShortLog ? [...fold.shortLog, commit] : undefined;
  // From the head as it was read: a run of the DevKit that ends needs no later deadline any more.
  fold.head = withExtendedDeadline(fold.stored ?? fold.head, fold.state.deadlineExtension?.deadlineAt);
}

/**
 * Folds the commits since the last read, and returns their number.
 * @param onCommit receives each commit before it is folded
 */
export async function readTail(
  deps: Pick<Deps, 'log'>,
  fold: RunFold,
  onCommit: (commit: Commit) => void = () => {},
): Promise<number> {
  const before = fold.state.asOf;
  for (let read = 1; read <= maxReads; read += 1) {
    const after = fold.state.asOf;
    invariant(after !== 0, 'readTail needs a fold that contains the first commit of the run');
    const found = await deps.log.commitsAfter(fold.head.address, after);
    if (foldContiguous(fold, found, onCommit)) return fold.state.asOf - before;
  }
  throw new Unavailable(`a read without a gap of the log of ${fold.head.address.runId}`);
}

/**
 * A test run may have been deleted meanwhile. Then nothing of it may be stored again, not even a large output.
 * @returns whether it is a test run
 */
export async function readTailOfTestRun(deps: Pick<Deps, 'log'>, fold: RunFold): Promise<boolean> {
  if (!isTestRun(fold.head)) return false;
  await readTail(deps, fold);
  return true;
}

/** While siblings are open, other workers commit too. Reading the tail costs a fifth of a lost put. */
export async function readTailBesideSiblings(deps: Pick<Deps, 'log'>, fold: RunFold, currentNode: NodeRef): Promise<void> {
  if (hasSiblings(fold.state, currentNode)) await readTail(deps, fold);
}

/** Whether another node is open that a worker, a timer or a signal may end. */
export const hasSiblings = ({ open, nodes }: Pick<RunState, 'open' | 'nodes'>, currentNode: NodeRef): boolean =>
  [...open.keys()].some((key) => key !== nodeKey(currentNode) && !isAdvancedByIterations(nodes.get(key)));

/** A loop that waits for its iterations: no worker commits for the loop node itself. A paused loop has a wake-up. */
const isAdvancedByIterations = (node: NodeState | undefined): boolean =>
  node?.status === 'waiting' && node.for === 'iterations' && node.loop.wakeAt === undefined;

/** All commits after `from` that the fold contains. It reads again until the result has no gap. */
export async function readCommits(
  { log }: Pick<Deps, 'log'>,
  { head, state: { asOf } }: RunFold,
  from: CommitNo,
): Promise<readonly Commit[]> {
  for (let read = 1; read <= maxReads; read += 1) {
    const contiguous = untilFirstGap(await log.commitsAfter(head.address, from), from + 1);
    if ((contiguous.at(-1)?.number ?? from) >= asOf) return contiguous;
  }
  throw new Unavailable(`a read without a gap of the log of ${head.address.runId}`);
}

/** Folds the commits up to the first gap. @returns whether there was no gap */
function foldContiguous(fold: RunFold, found: readonly Commit[], onCommit: (commit: Commit) => void = () => {}): boolean {
  const contiguous = untilFirstGap(found, fold.state.asOf + 1);
  for (const commit of contiguous) {
    // A deleted run has a tombstone under each commit number. The first one already ends the run.
    if (isTombstone(commit) && isTerminal(fold.state.progress)) break;
    onCommit(commit);
    advanceFold(fold, commit);
  }
  return contiguous.length === found.length;
}

/** The commits from number `first` up to the first gap. */
export function untilFirstGap(commits: readonly Commit[], first: number): readonly Commit[] {
  const gap = commits.findIndex((commit, index) => commit.number !== first + index);
  return gap === -1 ? commits : commits.slice(0, gap);
}
