/** The sweep's part in deletions, over the world of the HTTP functions. */
import { compile } from '../../lib/engine/graph/compile.ts';
import { after, days, hours, minutes } from '../../lib/engine/time.ts';
import { evaluatePure, termsOf } from '../../lib/nodes/catalogue.ts';
import { type ContinueResult, continueDeletions } from '../../lib/service/deletions/continue-deletions.ts';
import { Plans } from '../../lib/service/commit/plans.ts';
import { runKinds } from '../../lib/service/kinds/run-kinds.ts';
import type { Http } from './http.ts';

export const sweepDeletions = ({ world }: Http): Promise<ContinueResult> => {
  const settings = { retentionMs: days(30), idempotencyMs: hours(24), requiresHttps: true };
  const plans = new Plans({ compile: (version) => compile(version, termsOf), evaluate: evaluatePure });
  const deps = Object.assign({ ...world }, { settings });
  return continueDeletions({ deps, plans, kinds: runKinds, by: 'sweep' }, after(world.clock.now(), minutes(1)));
};
