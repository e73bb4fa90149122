/** Cancels a run. The cancel either wins or loses; a result that arrives after it changes nothing. */
import { signalWaitsOf } from '../engine/graph/sleepers.ts';
import { type RunAddress, nodeKey } from '../engine/ids.ts';
import { isTerminal } from '../engine/log/fold.ts';
import type { TerminalStatus } from '../engine/log/head.ts';
import type { Decider } from './decide-run.ts';
import { leaveWaits } from './keep-waits.ts';
import { nudgeDelay, nudgeLater } from './later.ts';
import { readRun } from './read-log.ts';
import { tellRun } from './tell-run.ts';

export type CancelAnswer =
  | { readonly kind: 'cancelled' }
  | { readonly kind: 'not_found' }
  /** the run had ended otherwise, before or while this was asked */
  | { readonly kind: 'run_terminal'; readonly status: Exclude<TerminalStatus, 'cancelled'> };

export async function cancelRun(decider: Decider, run: RunAddress, reason?: string): Promise<CancelAnswer> {
  const { deps } = decider;
  const fold = await readRun(deps, run);
  if (fold === undefined) return { kind: 'not_found' };
  const waits = signalWaitsOf(fold.state);
  if (!isTerminal(fold.state.progress)) {
    // First of all: this caller holds no message that would come back if it died after the commit.
    await nudgeLater(deps, fold.head, nudgeDelay);
    await tellRun(decider, fold, [{ kind: 'cancel-requested', ...(reason === undefined ? {} : { reason }) }]);
  }
  const { progress } = fold.state;
  // What is undone first waits for nothing any more, though its run goes on.
  const over = waits.filter((wait) => fold.state.nodes.get(nodeKey(wait))?.status !== 'waiting');
  await leaveWaits(deps, run, over);
  if (progress.status === 'completed' || progress.status === 'failed') return { kind: 'run_terminal', status: progress.status };
  return { kind: 'cancelled' };
}
