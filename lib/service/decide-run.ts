/** Commits what follows from facts about a graph run, and carries it out. The one way from a fact into the log. */
import { decide } from '../engine/graph/decide.ts';
import type { Fact } from '../engine/graph/facts.ts';
import type { Plan } from '../engine/graph/plan.ts';
import { type Appended, append } from './append.ts';
import { carryOut } from './carry-out.ts';
import type { Deps } from './deps.ts';
import { type Plans, decideTools } from './graph.ts';
import type { RunFold } from './read-log.ts';

export interface Decider {
  readonly deps: Deps;
  readonly plans: Plans;
  /** who commits, for people: `worker`, `api` … */
  readonly by: string;
}

/** @param keepsOne the caller goes on with one ready node itself */
export async function decideRun(
  { deps, plans, by }: Decider,
  fold: RunFold,
  plan: Plan,
  facts: readonly Fact[],
  keepsOne = false,
): Promise<Appended> {
  const appended = await append(deps, fold, by, (loaded) =>
    decide(fold.state, facts, decideTools(deps, plans, plan, fold.head, loaded, keepsOne)),
  );
  if (appended.kind === 'committed') await carryOut(deps, fold, appended.commit);
  return appended;
}
