/** Commits what follows from facts about a graph run, and carries it out. The one way from a fact into the log. */
import { signalWaitsOf } from '../engine/graph/sleepers.ts';
import { decideSome } from '../engine/graph/decide.ts';
import type { LoadedPayloads } from '../engine/graph/context-at.ts';
import type { Fact } from '../engine/graph/facts.ts';
import type { Plan } from '../engine/graph/plan.ts';
import type { Commit } from '../engine/log/commit.ts';
import type { RunEvent } from '../engine/log/events.ts';
import { pinnedVersion } from '../engine/log/head.ts';
import { type Appended, append } from './append.ts';
import { carryOut } from './carry-out.ts';
import { decideCodeRun } from './decide-code-run.ts';
import type { Deps } from './deps.ts';
import { keepWaits } from './keep-waits.ts';
import { measureCommit } from './measure-commit.ts';
import type { Meeter } from './meet-signals.ts';
import { type Plans, decideTools } from './graph.ts';
import type { RunFold } from './read-log.ts';

export interface Decider {
  readonly deps: Deps;
  readonly plans: Plans;
  /** who commits, for people: `worker`, `api` … */
  readonly by: string;
  /** whether another's commit says all that this one is to say; absent: none does */
  readonly isSaidBy?: (commit: Commit) => boolean;
}

/** @param keepsOne the caller goes on with one ready node itself */
export async function decideRun(
  decider: Decider,
  fold: RunFold,
  plan: Plan,
  facts: readonly Fact[],
  keepsOne = false,
): Promise<Appended> {
  const { deps, plans, by, isSaidBy } = decider;
  for (let given = facts; ;) {
    let rest: readonly Fact[] = [];
    const question = (loaded: LoadedPayloads): readonly RunEvent[] => {
      const decided = decideSome(fold.state, given, decideTools(deps, plans, plan, fold.head, loaded, keepsOne));
      rest = decided.rest;
      return decided.events;
    };
    const appended = await append(deps, fold, by, question, isSaidBy);
    if (appended.kind === 'committed') {
      const { commit } = appended;
      measureCommit(deps, fold, commit, plan);
      await carryOut(deps, fold, commit);
      await keepWaitsOf(decider, fold, commit);
    }
    // Each commit stands by itself: should this process end here, the messages of the other facts come again.
    if (appended.kind === 'nothing' || rest.length === 0) return appended;
    given = rest;
  }
}

export const meeterOf = (decider: Decider): Meeter => ({
  ...decider,
  decide: async (by, fold, fact) => {
    const { head } = fold;
    if (head.kind === 'code') return decideCodeRun(by, fold, [fact]);
    return decideRun(by, fold, await by.plans.of(by.deps, head.address, pinnedVersion(head)), [fact]);
  },
});

/** The waits that this commit began. Of a run without signals nothing is asked. */
export async function keepWaitsOf(decider: Decider, fold: RunFold, commit: Commit): Promise<void> {
  if (!commit.events.some(({ type }) => type === 'SIGNAL_AWAITED')) return;
  const begun = signalWaitsOf(fold.state).filter(({ dispatchedIn }) => dispatchedIn === commit.number);
  await keepWaits(meeterOf(decider), fold, begun);
}
