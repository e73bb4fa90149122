/**
 * Commits facts for a caller that has no message in flight, such as an API request. If the process dies after the commit, no message
 * would be redelivered. So a due entry is written before the commit, and the sweep checks the run within four minutes.
 */
import { isTerminal } from '../../engine/log/fold.ts';
import type { TerminalStatus } from '../../engine/log/head.ts';
import type { Decider } from '../decider.ts';
import { markDueSoon } from './mark-due.ts';
import type { RunFold } from '../run-log/read-run-fold.ts';

/** @param decide commits the facts */
export async function commitWithDueEntry<Result>(
  { deps }: Pick<Decider, 'deps'>,
  { head }: RunFold,
  decide: () => Promise<Result>,
): Promise<Result> {
  await markDueSoon(deps, head);
  return decide();
}

/** The run's terminal status in the fold; undefined while it is open. */
export const endStatusOf = ({ state: { progress } }: RunFold): TerminalStatus | undefined =>
  isTerminal(progress) ? progress.status : undefined;
