/** Commits the events that follow from facts about a graph run, and dispatches their effects. No other module commits such facts. */
import { signalWaitsOf } from '../../../engine/graph/sleepers.ts';
import { decideUntilFull } from '../../../engine/graph/decide.ts';
import type { LoadedPayloads } from '../../../engine/graph/context-at.ts';
import type { Fact } from '../../../engine/graph/facts.ts';
import type { Plan } from '../../../engine/graph/plan.ts';
import type { Commit } from '../../../engine/log/commit.ts';
import type { RunEvent } from '../../../engine/log/events.ts';
import { pinnedVersion } from '../../../engine/log/head.ts';
import { type AppendResult, append } from '../../run-log/append.ts';
import { dispatchEffects } from '../../commit/dispatch-effects.ts';
import { decideCodeRun } from '../code/decide-code-run.ts';
import type { Deps } from '../../deps.ts';
import { registerWaits } from '../../commit/register-waits.ts';
import { measureCommit } from '../../commit/measure-commit.ts';
import type { SignalMatcher } from '../../commit/match-signals.ts';
import { type Plans, decideTools } from '../../commit/plans.ts';
import type { RunFold } from '../../run-log/read-run-fold.ts';

export interface Decider {
  readonly deps: Deps;
  readonly plans: Plans;
  /** the process that commits, recorded for people: `worker`, `api` … */
  readonly by: string;
  /** whether another writer's commit already contains all that this decider would record; by default no commit does */
  readonly isAlreadyRecordedBy?: (commit: Commit) => boolean;
}

/** @param runsOneInline the caller runs one ready node itself, in the same invocation */
export async function decideRun(
  decider: Decider,
  fold: RunFold,
  plan: Plan,
  facts: readonly Fact[],
  runsOneInline = false,
): Promise<AppendResult> {
  const { deps, plans, by, isAlreadyRecordedBy } = decider;
  for (let pending = facts; ;) {
    let rest: readonly Fact[] = [];
    const decideEvents = (loaded: LoadedPayloads): readonly RunEvent[] => {
      const decided = decideUntilFull(fold.state, pending, decideTools(deps, plans, plan, fold.head, loaded, runsOneInline));
      rest = decided.remaining;
      return decided.events;
    };
    const appended = await append(deps, fold, by, decideEvents, isAlreadyRecordedBy);
    if (appended.kind === 'committed') {
      const { commit } = appended;
      measureCommit(deps, fold, commit, plan);
      await dispatchEffects(deps, fold, commit);
      await registerNewWaits(decider, fold, commit);
    }
    // Each commit is complete. If the process dies here, the queue redelivers the messages of the remaining facts.
    if (appended.kind === 'nothing' || rest.length === 0) return appended;
    pending = rest;
  }
}

export const signalMatcherOf = (decider: Decider): SignalMatcher => ({
  ...decider,
  decide: async (by, fold, fact) => {
    const { head } = fold;
    if (head.kind === 'code') return decideCodeRun(by, fold, [fact]);
    return decideRun(by, fold, await by.plans.of(by.deps, head.address, pinnedVersion(head)), [fact]);
  },
});

/** Registers the signal waits that this commit began. For other commits it makes no request. */
export async function registerNewWaits(decider: Decider, fold: RunFold, commit: Commit): Promise<void> {
  if (!commit.events.some(({ type }) => type === 'SIGNAL_AWAITED')) return;
  const newWaits = signalWaitsOf(fold.state).filter(({ dispatchedIn }) => dispatchedIn === commit.number);
  await registerWaits(signalMatcherOf(decider), fold, newWaits);
}
