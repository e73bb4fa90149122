/**
 * Tells an open run something for somebody who holds no message: nothing would come back if this died after the commit, so
 * what looks at the run again is left first.
 */
import { isTerminal } from '../../engine/log/fold.ts';
import type { TerminalStatus } from '../../engine/log/head.ts';
import { after, minutes } from '../../engine/time.ts';
import type { AppendResult } from '../run-log/append.ts';
import type { Decider } from './decide-run.ts';
import { recheckDelay, sendRecheck } from './schedule-message.ts';
import { markDue } from './mark-due.ts';
import type { RunFold } from '../run-log/read-run-fold.ts';

/** By then what the fact set going is seen at work, or its sends were lost. */
const firstCheckDelay = minutes(2);

/** @param decide commits what was asked */
export async function commitWithRecheck(
  decider: Decider,
  fold: RunFold,
  decide: () => Promise<AppendResult>,
): Promise<AppendResult> {
  const { deps } = decider;
  await Promise.all([
    sendRecheck(deps, fold.head, recheckDelay),
    // The run may sleep, and its next look be as far off as the end of its sleep.
    markDue(deps, fold.head, after(deps.clock.now(), firstCheckDelay)),
  ]);
  return decide();
}

/** How the run ended, as far as the fold knows. */
export const endStatusOf = ({ state: { progress } }: RunFold): TerminalStatus | undefined =>
  isTerminal(progress) ? progress.status : undefined;
