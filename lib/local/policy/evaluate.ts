/** Evaluates a role's identity policies as IAM does. Resource policies are not evaluated. */
import type { RequestContext } from './conditions.ts';
import type { Statement } from './statements.ts';

/** A permission that a request needs; a batch or a transaction needs several. */
export interface RequiredPermission {
  /** `dynamodb:PutItem` */
  readonly action: string;
  readonly resource: string;
  readonly context?: RequestContext;
}

export type AccessDecision = 'allowed' | 'explicit_deny' | 'implicit_deny';

/** A Deny wins over every Allow, and without an Allow the request is denied. */
export function evaluate(statements: readonly Statement[], permission: RequiredPermission): AccessDecision {
  let decision: AccessDecision = 'implicit_deny';
  for (const statement of statements) {
    if (!statement.matchesAction(permission.action) || !statement.matchesResource(permission.resource)) continue;
    if (!statement.conditions(permission.context ?? {})) continue;
    if (statement.effect === 'Deny') return 'explicit_deny';
    decision = 'allowed';
  }
  return decision;
}

/** The message of AWS. */
export const denialMessage = (
  principalArn: string,
  permission: RequiredPermission,
  decision: Exclude<AccessDecision, 'allowed'>,
): string =>
  `User: ${principalArn} is not authorized to perform: ${permission.action} on resource: ${permission.resource} ${
    decision === 'explicit_deny'
      ? 'with an explicit deny in an identity-based policy'
      : `because no identity-based policy allows the ${permission.action} action`
  }`;
