/** Whether a role may do something: its identity policies, as IAM evaluates them. Resource policies are not looked at. */
import type { RequestContext } from './conditions.ts';
import type { Statement } from './statements.ts';

/** One thing a request needs permission for; a batch or a transaction needs several. */
export interface Need {
  /** `dynamodb:PutItem` */
  readonly action: string;
  readonly resource: string;
  readonly context?: RequestContext;
}

export type Verdict = 'allowed' | 'denied explicitly' | 'not allowed';

/** A Deny wins over every Allow, and what nobody allows is denied. */
export function evaluate(statements: readonly Statement[], need: Need): Verdict {
  let verdict: Verdict = 'not allowed';
  for (const statement of statements) {
    if (!statement.matchesAction(need.action) || !statement.matchesResource(need.resource)) continue;
    if (!statement.conditions(need.context ?? {})) continue;
    if (statement.effect === 'Deny') return 'denied explicitly';
    verdict = 'allowed';
  }
  return verdict;
}

/** The sentence that AWS answers with. */
export const denial = (who: string, need: Need, verdict: Exclude<Verdict, 'allowed'>): string =>
  `User: ${who} is not authorized to perform: ${need.action} on resource: ${need.resource} ${
    verdict === 'denied explicitly'
      ? 'with an explicit deny in an identity-based policy'
      : `because no identity-based policy allows the ${need.action} action`
  }`;
