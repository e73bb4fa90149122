/** How facts about a graph run become events, by the plan of its version. */
import type { LoadedPayloads } from '../../../engine/graph/context.ts';
import { type DeadlineTerms, deadlineTermsOf } from '../../../engine/deadline.ts';
import { decideUntilFull } from '../../../engine/graph/decide.ts';
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
