/** The signals for which nodes of listed runs wait. A list has no waits: the log of each open run has them. */
import { signalWaitsOf } from '../../engine/log/open-nodes.ts';
import type { Head } from '../../engine/log/head.ts';
import type { SignalWait } from '../../engine/log/node-state.ts';
import { type RunReadDeps, readRunFold } from '../run-log/read-run-fold.ts';
import type { ListedRun } from './list-runs.ts';

/** Runs of one page whose logs are read. */
export const maxRunsWithWaits = 25;
/** Waits of a run that a list shows: a loop has up to 1,000 open iterations. */
export const maxShownWaits = 100;
/** A fold of a long run has some megabytes. */
const foldsAtOnce = 5;

export interface RunWaits {
  readonly waits: readonly SignalWait[];
  /** further waits of the run */
  readonly omitted: number;
}

/** The waits of the open runs that can wait for a signal: of graphs and of code. */
export async function readWaits(deps: RunReadDeps, runs: readonly ListedRun[]): Promise<ReadonlyMap<Head, RunWaits>> {
  const heads = runs.flatMap((run) => ('head' in run && canWait(run) ? [run.head] : []));
  const found = new Map<Head, RunWaits>();
  for (let at = 0; at < heads.length; at += foldsAtOnce) {
    const some = heads.slice(at, at + foldsAtOnce).map(async (head) => {
      const fold = await readRunFold(deps, head.address);
      // Deleted since it was listed.
      const all = fold === undefined ? [] : signalWaitsOf(fold.state);
      const waits = all.slice(0, maxShownWaits);
      found.set(head, { waits, omitted: all.length - waits.length });
    });
    await Promise.all(some);
  }
  return found;
}

/** A run can wait since its first commit, and is `pending` until the next one. */
const canWait = ({ head, status }: Extract<ListedRun, { head: unknown }>): boolean =>
  (status === 'pending' || status === 'running') && (head.kind === 'graph' || head.kind === 'code');
