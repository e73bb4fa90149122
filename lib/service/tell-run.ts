/** Commits what follows from facts that a run of any kind knows. */
import type { Fact } from '../engine/graph/facts.ts';
import { pinnedVersion } from '../engine/log/head.ts';
import type { Appended } from './append.ts';
import { decideFetchRun } from './decide-fetch-run.ts';
import { type Decider, decideRun } from './decide-run.ts';
import type { RunFold } from './read-log.ts';

export type CommonFact = Extract<Fact, { kind: 'node-lost' | 'cancel-requested' | 'deadline-passed' | 'recovered' }>;

export async function tellRun(decider: Decider, fold: RunFold, facts: readonly CommonFact[]): Promise<Appended> {
  const { head } = fold;
  if (head.kind === 'fetch') return decideFetchRun(decider, fold, facts);
  return decideRun(decider, fold, await decider.plans.of(decider.deps, head.address, pinnedVersion(head)), facts);
}
