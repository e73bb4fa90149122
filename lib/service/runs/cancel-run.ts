/** Cancels a run. The cancel either wins or loses; a result that arrives after it changes nothing. */
import { defined } from '../../base/defined.ts';
import { signalWaitsOf } from '../../engine/log/open-nodes.ts';
import { type RunAddress, nodeKey } from '../../engine/ids.ts';
import { isTerminal } from '../../engine/log/fold.ts';
import type { TerminalStatus } from '../../engine/log/head.ts';
import type { Decider } from '../decider.ts';
import { commitWithDueEntry } from '../commit/commit-with-due-entry.ts';
import { removeWaits } from '../commit/register-waits.ts';
import { readRunFold } from '../run-log/read-run-fold.ts';
import { notifyRun } from '../commit/commit-facts.ts';

export type CancelResult =
  | { readonly kind: 'cancelled' }
  | { readonly kind: 'not_found' }
  /** the run had already completed or failed, or did so concurrently */
  | { readonly kind: 'run_terminal'; readonly status: Exclude<TerminalStatus, 'cancelled'> };

export async function cancelRun(decider: Decider, run: RunAddress, reason?: string): Promise<CancelResult> {
  const { deps } = decider;
  const fold = await readRunFold(deps, run);
  if (fold === undefined) return { kind: 'not_found' };
  const waits = signalWaitsOf(fold.state);
  if (!isTerminal(fold.state.progress)) {
    await commitWithDueEntry(decider, fold, () => notifyRun(decider, fold, [defined({ kind: 'cancel-requested', reason })]));
  }
  const { progress } = fold.state;
  // In a run that rolls back first, the waits of cancelled nodes have ended although the run continues.
  const endedWaits = waits.filter((wait) => fold.state.nodes.get(nodeKey(wait))?.status !== 'waiting');
  await removeWaits(deps, run, endedWaits);
  if (progress.status === 'completed' || progress.status === 'failed') return { kind: 'run_terminal', status: progress.status };
  return { kind: 'cancelled' };
}
