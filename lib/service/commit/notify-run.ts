/** Commits facts that runs of several kinds understand, with the decider of the run's kind. */
import type { Fact } from '../../engine/graph/facts.ts';
import { pinnedVersion } from '../../engine/log/head.ts';
import type { AppendResult } from '../run-log/append.ts';
import { decideCodeRun } from '../kinds/code/decide-code-run.ts';
import { decideBundleRun } from '../kinds/bundle/decide-bundle-run.ts';
import { type Decider, decideRun } from '../kinds/graph/decide-run.ts';
import type { RunFold } from '../run-log/read-run-fold.ts';

export type CommonFact = Extract<Fact, { kind: 'node-lost' | 'cancel-requested' | 'deadline-passed' | 'recovered' }>;

/** Facts about waits. Only the code of a bundle run knows what that run waits for. */
export type WaitFact = Extract<Fact, { kind: 'child-ended' | 'signal-received' | 'resume-requested' | 'wake-requested' }>;

export async function notifyRun(decider: Decider, fold: RunFold, facts: readonly CommonFact[]): Promise<AppendResult> {
  return fold.head.kind === 'bundle' ? decideBundleRun(decider, fold, facts) : notifyWaiting(decider, fold, facts);
}

/** For graph runs and code runs, whose logs contain their waits as nodes. */
export async function notifyWaiting(
  decider: Decider,
  fold: RunFold,
  facts: readonly (CommonFact | WaitFact)[],
): Promise<AppendResult> {
  const { head } = fold;
  if (head.kind === 'code') return decideCodeRun(decider, fold, facts);
  return decideRun(decider, fold, await decider.plans.of(decider.deps, head.address, pinnedVersion(head)), facts);
}
