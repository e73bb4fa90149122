/** Builds the completion event of a node. */
import { defined } from '../../base/defined.ts';
import type { Attempt } from '../ids.ts';
import type { TokenCount } from '../log/events.ts';
import type { Instant } from '../time.ts';
import type { Outcome } from './outcome.ts';
import type { PlanNodeRef } from './plan.ts';

export interface AttemptTimes {
  readonly attempt: Attempt;
  readonly startedAt: Instant;
  readonly endedAt: Instant;
  readonly printed?: readonly string[];
  readonly tokens?: TokenCount;
}

/** The context keys `output` and `input` belong to the run; only an end node writes `output`. */
export const completionEvent = (
  { node, iteration }: PlanNodeRef,
  outcome: Extract<Outcome, { kind: 'finished' }>,
  times: AttemptTimes,
) => {
  const variable = outcome.end === undefined ? node.policy.outputVariable : 'output';
  return defined({
    type: 'NODE_COMPLETED' as const,
    nodeId: node.id,
    iteration,
    ...times,
    output: outcome.output,
    handle: outcome.handle,
    variable,
    end: outcome.end,
  });
};
