/** What the operations of the HTTP functions work with. Made once per function, so that it stays warm. */
import type { Logger } from '@aws-lambda-powertools/logger';
import type { InspectNode } from '../../lib/engine/graph/inspection.ts';
import { Authenticator } from '../../lib/service/authenticate.ts';
import type { Decider } from '../../lib/service/decide-run.ts';
import { FailureBudget } from '../../lib/service/failure-budget.ts';
import { RateTaker } from '../../lib/service/take-rate.ts';

export interface Tools {
  readonly decider: Decider;
  readonly inspect: InspectNode;
  readonly authenticator: Authenticator;
  readonly rates: RateTaker;
  readonly failures: FailureBudget;
  readonly logger: Pick<Logger, 'info' | 'warn' | 'error'>;
}

export const toolsOf = ({ decider, inspect, logger }: Pick<Tools, 'decider' | 'inspect' | 'logger'>): Tools => ({
  decider,
  inspect,
  logger,
  authenticator: new Authenticator(decider.deps),
  rates: new RateTaker(decider.deps),
  failures: new FailureBudget(decider.deps.clock),
});
