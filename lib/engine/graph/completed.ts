/** The event that says a node has completed. */
import type { Attempt } from '../ids.ts';
import type { TokenCount } from '../log/events.ts';
import type { Instant } from '../time.ts';
import type { Outcome } from './outcome.ts';
import type { Place } from './plan.ts';

export interface Times {
  readonly attempt: Attempt;
  readonly startedAt: Instant;
  readonly endedAt: Instant;
  readonly printed?: readonly string[];
  readonly tokens?: TokenCount;
}

/** The completion of a node. `output` and `input` are the run's own keys; only an end node writes `output`. */
export const completed = ({ node, iteration }: Place, outcome: Extract<Outcome, { kind: 'finished' }>, times: Times) => {
  const variable = outcome.end === undefined ? node.policy.outputVariable : 'output';
  return {
    type: 'NODE_COMPLETED' as const,
    nodeId: node.id,
    iteration,
    ...times,
    output: outcome.output,
    handle: outcome.handle,
    ...(variable === undefined ? {} : { variable }),
    ...(outcome.end === undefined ? {} : { end: outcome.end }),
  };
};
