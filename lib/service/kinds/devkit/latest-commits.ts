/** Keeps the latest commits of a run beside its fold. A step in sequence is then answered without a read of the log. */
import type { Commit } from '../../../engine/log/commit.ts';
import type { DevKitFold } from './world.ts';

/** A start of a step, its end, and what comes in between. */
const keptCommits = 4;
/** A batch is not kept: the memory of a process with many cached folds is limited. An event has at most 8 KB, more is in the bucket. */
const maxEventsOfKept = 4;

export function keepCommit(fold: DevKitFold, commit: Commit): void {
  if (commit.events.length > maxEventsOfKept) fold.latest = [];
  else fold.latest = [...(fold.latest ?? []), commit].slice(-keptCommits);
}

/** The commits of these numbers that are kept. */
export const keptOf = ({ latest = [] }: DevKitFold, numbers: readonly number[]): readonly Commit[] =>
  latest.filter(({ number }) => numbers.includes(number));

/** All commits that have events after a position; undefined if some of them are not kept. */
export function keptAfter({ latest = [], state }: DevKitFold, position: number): readonly Commit[] | undefined {
  if (latest.at(-1)?.number !== state.asOf) return undefined;
  const first = latest.findLastIndex(({ number }, index) => number !== (latest[index + 1]?.number ?? number + 1) - 1) + 1;
  const contiguous = latest.slice(first);
  return (contiguous[0]?.firstEventId ?? Infinity) <= position + 1 ? contiguous : undefined;
}
