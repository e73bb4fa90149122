/** How facts about a graph run become events, by the plan of its version. */
import { type LoadedPayloads, PayloadsNeeded } from '../../../engine/graph/context.ts';
import { type DeadlineTerms, deadlineTermsOf } from '../../../engine/deadline.ts';
import { decide, decideUntilFull } from '../../../engine/graph/decide.ts';
import type { DecideTools } from '../../../engine/graph/draft.ts';
import type { Fact } from '../../../engine/graph/facts.ts';
import type { Plan } from '../../../engine/graph/plan.ts';
import { type Head, pinnedVersion } from '../../../engine/log/head.ts';
import { childRunId } from '../../commit/child-run-id.ts';
import { commitFacts } from '../../commit/commit-facts.ts';
import type { Plans } from '../../commit/plans.ts';
import type { Deps } from '../../deps.ts';
import type { Decision } from '../../commit/append-facts.ts';
import type { Decider } from '../../decider.ts';
import type { AppendResult } from '../../run-log/append.ts';
import type { RunFold } from '../../run-log/read-run-fold.ts';

export const planOf = ({ deps, plans }: Decider, { head }: RunFold): Promise<Plan> =>
  plans.of(deps, head.address, pinnedVersion(head));

/** Commits facts. @param runsOneInline the caller runs one ready node itself, in the same invocation */
export const decideRun = (
  decider: Decider,
  fold: RunFold,
  plan: Plan,
  facts: readonly Fact[],
  runsOneInline = false,
): Promise<AppendResult> => commitFacts(decider, fold, facts, graphDecision(decider, fold, plan, runsOneInline));

export const graphDecision = ({ deps, plans }: Decider, fold: RunFold, plan: Plan, runsOneInline = false): Decision<Fact> => ({
  decide: (facts, loaded) => {
    const { address } = fold.head;
    const tools = decideTools(deps, plans, plan, address, deadlineTermsOf(fold.head), loaded, runsOneInline);
    const { events, remaining } = decideUntilFull(fold.state, facts, tools);
    return { events, undecided: remaining.length };
  },
  nodeTypeOf: (id) => plan.nodes.get(id)?.type,
});

/**
 * Decides one fact on a draft of the fold, and commits nothing.
 * @param state the run with the events that were decided before
 * @returns undefined if the decision needs a value from the bucket
 */
export function decideOnDraft(
  { deps, plans }: Decider,
  { head }: RunFold,
  plan: Plan,
  state: RunFold['state'],
  fact: Fact,
): ReturnType<typeof decide> | undefined {
  const tools = decideTools(deps, plans, plan, head.address, deadlineTermsOf(head), new Map(), true);
  try {
    return decide(state, [fact], tools);
  } catch (error) {
    if (error instanceof PayloadsNeeded) return undefined;
    throw error;
  }
}

export interface DraftCommitted {
  readonly appended: AppendResult;
  /** whether the drafted events were committed */
  readonly isWhole: boolean;
}

/**
 * Commits events that were decided before, as long as they follow from the log.
 * @param first the fact that is decided again if they do not
 * @param drafted the events; undefined if they do not follow from the log
 */
export async function commitDrafted(
  decider: Decider,
  fold: RunFold,
  plan: Plan,
  first: Fact,
  drafted: () => ReturnType<typeof decide> | undefined,
): Promise<DraftCommitted> {
  const decision = graphDecision(decider, fold, plan, true);
  let isWhole = false;
  const appended = await commitFacts<Fact>(decider, fold, [first], {
    ...decision,
    decide: (facts, loaded) => {
      const events = drafted();
      isWhole = events !== undefined;
      return events === undefined ? decision.decide(facts, loaded) : { events, undecided: 0 };
    },
  });
  return { appended, isWhole };
}

/** The inputs of `decide` besides the state and the facts, at the current time. */
export const decideTools = (
  deps: Pick<Deps, 'clock' | 'ids'>,
  plans: Plans,
  plan: Plan,
  address: Head['address'],
  deadline: DeadlineTerms,
  loaded: LoadedPayloads,
  runsOneInline = false,
): DecideTools => ({
  plan,
  runId: address.runId,
  now: deps.clock.now(),
  ...deadline,
  random: () => deps.ids.random(),
  evaluate: plans.evaluate,
  loaded,
  childRunId: (node, attempt) => childRunId(address.runId, node, attempt),
  runsOneInline,
});
