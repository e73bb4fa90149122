/** Who may call the gateway: each function by a key of its own, with the statements of its role. */
import { randomBytes } from 'node:crypto';
import { arn, lastPart, place } from '../place.ts';
import type { RequestContext } from '../policy/conditions.ts';
import { denial, evaluate, type Need } from '../policy/evaluate.ts';
import type { Roles } from '../policy/roles.ts';

export interface Principal {
  /** as AWS names it in a denial */
  readonly arn: string;
  /** the function's name, for the terminal and the recorder */
  readonly name: string;
  readonly roleArn: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** what IAM knows of whoever asks: of a function's own calls, which function it is */
  readonly context?: RequestContext;
  /** may do everything: the person whose machine it is */
  readonly isOwner?: true;
}

export interface Principals {
  /** Makes the key of a function for this start. */
  enrol(functionName: string, roleArn: string, functionArn?: string): Principal;
  /** Makes the key by which the owner of the machine looks into the emulators, for this start. */
  enrolOwner(): Principal;
  /** Makes the key of a session with a role, which is nobody's any more after `until`. */
  lend(sessionName: string, roleArn: string, until: Date): Principal;
  byKey(accessKeyId: string): Principal | undefined;
  /** The sentence of the first denial, or undefined where everything is allowed. */
  refusal(principal: Pick<Principal, 'arn' | 'roleArn' | 'isOwner' | 'context'>, needs: readonly Need[]): string | undefined;
}

interface Terms {
  readonly until?: Date;
  readonly context?: RequestContext;
}

export function createPrincipals(roles: Roles): Principals {
  const byKey = new Map<string, { readonly principal: Principal; readonly until?: Date }>();
  const enrol = (name: string, roleArn: string, { until, context }: Terms = {}): Principal => {
    const principal: Principal = {
      ...(context === undefined ? {} : { context }),
      arn: `arn:${place.partition}:sts::${place.account}:assumed-role/${lastPart(roleArn)}/${name}`,
      name,
      roleArn,
      accessKeyId: `LKIA${randomBytes(12).toString('hex').toUpperCase()}`,
      secretAccessKey: randomBytes(30).toString('base64url'),
    };
    byKey.set(principal.accessKeyId, { principal, ...(until === undefined ? {} : { until }) });
    return principal;
  };
  const isOver = ({ until }: { readonly until?: Date }): boolean => until !== undefined && until.getTime() <= Date.now();
  return {
    // Lambda puts it into the context of the credentials that a function's code gets, and of no request that Lambda itself makes with
    // the function's role, such as a poll of a queue. (Lambda Developer Guide, "Using source function ARN")
    enrol: (functionName, roleArn, functionArn) =>
      enrol(functionName, roleArn, functionArn === undefined ? {} : { context: { 'lambda:sourcefunctionarn': [functionArn] } }),
    enrolOwner() {
      const principal = { ...enrol('owner', arn('iam', 'root')), isOwner: true } as const;
      byKey.set(principal.accessKeyId, { principal });
      return principal;
    },
    lend(sessionName, roleArn, until) {
      for (const [key, known] of byKey) if (isOver(known)) byKey.delete(key);
      return enrol(sessionName, roleArn, { until });
    },
    byKey(accessKeyId) {
      const known = byKey.get(accessKeyId);
      return known === undefined || isOver(known) ? undefined : known.principal;
    },
    refusal(principal, needs) {
      if (principal.isOwner === true) return undefined;
      const statements = roles.get(principal.roleArn) ?? [];
      for (const need of needs) {
        const verdict = evaluate(statements, { ...need, context: { ...need.context, ...principal.context } });
        if (verdict !== 'allowed') return denial(principal.arn, need, verdict);
      }
      return undefined;
    },
  };
}

/** A service that acts with a role on behalf of the template: schedules do. */
export const serviceActing = (service: string, roleArn: string): Pick<Principal, 'arn' | 'roleArn'> => ({
  arn: arn('sts', `assumed-role/${lastPart(roleArn)}/${service}`),
  roleArn,
});
