/** Commits facts about a run of any kind, and dispatches the effects of each commit. The commit always precedes its effects. */
import type { Fact } from '../../engine/graph/facts.ts';
import { type Decider, kindOf } from '../decider.ts';
import type { Decision } from './append-facts.ts';
import type { AppendResult } from '../run-log/append.ts';
import type { RunFold } from '../run-log/read-run-fold.ts';
import { appendFacts } from './append-facts.ts';
import { dispatchEffects } from './dispatch-effects.ts';

export async function commitFacts<DecidedFact>(
  decider: Decider,
  fold: RunFold,
  facts: readonly DecidedFact[],
  decision: Decision<DecidedFact>,
): Promise<AppendResult> {
  for (let pending = facts; ;) {
    const { appended, undecided } = await appendFacts(decider, fold, pending, decision);
    if (appended.kind === 'committed') await dispatchEffects(decider, fold, appended.commit);
    // Each commit is complete. If the process dies here, the queue redelivers the messages of the remaining facts.
    if (appended.kind === 'nothing' || undecided.length === 0) return appended;
    pending = undecided;
  }
}

/** Commits facts that runs of several kinds understand. */
export const notifyRun = async (decider: Decider, fold: RunFold, facts: readonly Fact[]): Promise<AppendResult> =>
  commitFacts(decider, fold, facts, await kindOf(decider, fold.head).decide(decider, fold));
