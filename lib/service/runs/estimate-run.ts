/** The size of a run's log, and what the run used of AWS: both read the whole log. */
import { pack, packedBytes } from '../../codec/packed.ts';
import { type RunAddress, firstCommit } from '../../engine/ids.ts';
import type { Commit } from '../../engine/log/commit.ts';
import { isHeldByHead } from '../../engine/log/head.ts';
import { type RunUsage, UsageCounter } from '../../engine/log/run-usage.ts';
import { maxQueueDelayMs } from '../../ports/jobs.ts';
import type { Deps } from '../deps.ts';
import { readWindows } from '../run-log/read-windows.ts';

export interface RunEstimate {
  /** of the log, as it is stored */
  readonly bytes: number;
  readonly usage: RunUsage;
}

/**
 * Keys, names, times and ids of an item beside its events. The head also has the creation record and the projection. A commit that the head
 * holds has no key.
 */
const overheadBytes = { commit: 150, head: 450, commitInHead: 60 } as const;
const commitsPerWindow = 500;

/** @returns undefined for a run whose log does not say which messages it took: a bundle run, or a run of the DevKit */
export async function estimateRun(deps: Pick<Deps, 'log' | 'notices'>, run: RunAddress): Promise<RunEstimate | undefined> {
  const head = await deps.log.head(run);
  if (head === undefined || head.kind === 'bundle' || head.kind === 'devkit') return undefined;
  const counter = new UsageCounter(head, maxQueueDelayMs, deps.notices.runEvents);
  counter.add(head.commit, storedBytes(head.commit) + overheadBytes.head);
  for await (const { commits } of readWindows(deps, run, { from: firstCommit, events: commitsPerWindow }))
    for (const commit of commits) {
      const overhead = isHeldByHead(head, commit) ? overheadBytes.commitInHead : overheadBytes.commit;
      counter.add(commit, storedBytes(commit) + overhead);
    }
  return { bytes: counter.bytes, usage: counter.usage };
}

const storedBytes = ({ events }: Commit): number => packedBytes(pack(events));
