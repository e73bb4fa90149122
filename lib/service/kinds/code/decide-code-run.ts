/** How facts about a code run become events. */
import { type DeadlineTerms, deadlineTermsOf } from '../../../engine/deadline.ts';
import { decideCode } from '../../../engine/durable/decide.ts';
import type { CodeFact, CodeTools } from '../../../engine/durable/facts.ts';
import type { Fact } from '../../../engine/graph/facts.ts';
import type { RunEvent } from '../../../engine/log/events.ts';
import type { RunAddress } from '../../../engine/ids.ts';
import type { Instant } from '../../../engine/time.ts';
import { childRunId } from '../../commit/child-run-id.ts';
import type { Decision } from '../../commit/append-facts.ts';
import type { Decider } from '../../decider.ts';
import type { RunFold } from '../../run-log/read-run-fold.ts';

/**
 * For facts from outside the workflow function. They are decided again after a lost put; a command batch is not
 * (`workflow-task-log.ts`).
 */
export function codeDecision({ deps }: Pick<Decider, 'deps'>, fold: RunFold): Decision<Fact> {
  const decideEvents = (facts: readonly CodeFact[]): readonly RunEvent[] =>
    decideCode(fold.state, facts, codeTools(deps.clock.now(), fold.head.address, deadlineTermsOf(fold.head)));
  return {
    decide: (facts) => ({ events: decideEvents(facts.filter(isCodeFact)), undecided: 0 }),
    eventsWhenTooLarge: (failure) => decideEvents([{ kind: 'commit-too-large', failure }]),
  };
}

/** A code run has no node results and no concurrency slots. A message that claims otherwise changes nothing. */
const isCodeFact = (fact: Fact): fact is Extract<Fact, CodeFact> => fact.kind !== 'node-ended' && fact.kind !== 'slot-taken';

/** The inputs of `decideCode` besides the state and the facts. */
export const codeTools = (now: Instant, address: RunAddress, deadline: DeadlineTerms): CodeTools => ({
  now,
  ...deadline,
  childRunId: (node, attempt) => childRunId(address.runId, node, attempt),
});
