/** What the operations of the HTTP functions work with. Made once per function, so that it stays warm. */
import type { Logger } from '@aws-lambda-powertools/logger';
import type { InspectNode } from '../../lib/engine/graph/inspection.ts';
import { Authenticator } from '../../lib/service/access/authenticator.ts';
import type { Decider } from '../../lib/service/commit/decide-run.ts';
import { FailureBudget } from '../../lib/service/access/failure-budget.ts';
import { RateLimiter } from '../../lib/service/access/rate-limiter.ts';

export interface Tools {
  readonly decider: Decider;
  readonly inspect: InspectNode;
  readonly authenticator: Authenticator;
  readonly rates: RateLimiter;
  readonly failures: FailureBudget;
  readonly logger: Pick<Logger, 'info' | 'warn' | 'error'>;
}

export const toolsOf = ({ decider, inspect, logger }: Pick<Tools, 'decider' | 'inspect' | 'logger'>): Tools => ({
  decider,
  inspect,
  logger,
  authenticator: new Authenticator(decider.deps),
  rates: new RateLimiter(decider.deps),
  failures: new FailureBudget(decider.deps.clock),
});
