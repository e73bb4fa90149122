/**
 * Tells an open run something for somebody who holds no message: nothing would come back if this died after the commit, so
 * what looks at the run again is left first.
 */
import { isTerminal } from '../engine/log/fold.ts';
import type { TerminalStatus } from '../engine/log/head.ts';
import { after, minutes } from '../engine/time.ts';
import type { Appended } from './append.ts';
import type { Decider } from './decide-run.ts';
import { nudgeDelay, nudgeLater } from './later.ts';
import { markDue } from './mark-due.ts';
import type { RunFold } from './read-log.ts';

/** By then what the fact set going is seen at work, or its sends were lost. */
const firstLook = minutes(2);

/** @param decide commits what was asked */
export async function askRun(decider: Decider, fold: RunFold, decide: () => Promise<Appended>): Promise<Appended> {
  const { deps } = decider;
  await Promise.all([
    nudgeLater(deps, fold.head, nudgeDelay),
    // The run may sleep, and its next look be as far off as the end of its sleep.
    markDue(deps, fold.head, after(deps.clock.now(), firstLook)),
  ]);
  return decide();
}

/** How the run ended, as far as the fold knows. */
export const endOf = ({ state: { progress } }: RunFold): TerminalStatus | undefined =>
  isTerminal(progress) ? progress.status : undefined;
