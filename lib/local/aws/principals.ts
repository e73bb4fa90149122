/** The callers of the gateway: each function has its own key and the policy statements of its role. */
import { defined } from '../../base/defined.ts';
import { randomBytes } from 'node:crypto';
import { arn, lastPart, awsEnvironment } from '../aws-environment.ts';
import { type RequestContext, type RequiredPermission, denialMessage, createEvaluator } from '../policy/evaluate.ts';
import type { Roles } from '../policy/roles.ts';

export interface Principal {
  /** as AWS names the caller in a denial */
  readonly arn: string;
  /** the function's name, for the terminal and the recorder */
  readonly name: string;
  readonly roleArn: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** the condition context of the caller, such as the ARN of the calling function */
  readonly context?: RequestContext;
  /** may do everything: the owner of the machine */
  readonly isOwner?: true;
}

export interface Principals {
  /** Creates the key of a function; it is valid until the cloud stops. */
  createPrincipal(functionName: string, roleArn: string, functionArn?: string): Principal;
  /** Creates the key by which the owner of the machine reads the emulators; it is valid until the cloud stops. */
  createOwnerPrincipal(): Principal;
  /** Creates the key of a role session. It expires at `until`. */
  createSessionPrincipal(sessionName: string, roleArn: string, expiresAt: Date): Principal;
  byKey(accessKeyId: string): Principal | undefined;
  /** The message of the first denial; undefined where everything is allowed. */
  findDenial(
    principal: Pick<Principal, 'arn' | 'roleArn' | 'isOwner' | 'context'>,
    permissions: readonly RequiredPermission[],
  ): string | undefined;
}

interface PrincipalOptions {
  readonly expiresAt?: Date;
  readonly context?: RequestContext;
}

export function createPrincipals(roles: Roles): Principals {
  const byKey = new Map<string, { readonly principal: Principal; readonly expiresAt?: Date }>();
  const createPrincipal = (name: string, roleArn: string, { expiresAt, context }: PrincipalOptions = {}): Principal => {
    const principal: Principal = defined({
      context,
      arn: `arn:${awsEnvironment.partition}:sts::${awsEnvironment.account}:assumed-role/${lastPart(roleArn)}/${name}`,
      name,
      roleArn,
      accessKeyId: `LKIA${randomBytes(12).toString('hex').toUpperCase()}`,
      secretAccessKey: randomBytes(30).toString('base64url'),
    });
    byKey.set(principal.accessKeyId, defined({ principal, expiresAt }));
    return principal;
  };
  const evaluators = new Map<string, ReturnType<typeof createEvaluator>>();
  const evaluatorOf = (roleArn: string): ReturnType<typeof createEvaluator> => {
    const evaluator = evaluators.get(roleArn) ?? createEvaluator(roles.get(roleArn) ?? []);
    evaluators.set(roleArn, evaluator);
    return evaluator;
  };
  const isExpired = ({ expiresAt }: { readonly expiresAt?: Date }): boolean =>
    expiresAt !== undefined && expiresAt.getTime() <= Date.now();
  return {
    // Lambda adds this key to the credentials of a function's code, and not to requests that Lambda itself makes with the role,
    // such as a poll of a queue. (Lambda Developer Guide, "Using source function ARN")
    createPrincipal: (functionName, roleArn, functionArn) =>
      createPrincipal(
        functionName,
        roleArn,
        functionArn === undefined ? {} : { context: { 'lambda:sourcefunctionarn': [functionArn] } },
      ),
    createOwnerPrincipal() {
      const principal = { ...createPrincipal('owner', arn('iam', 'root')), isOwner: true } as const;
      byKey.set(principal.accessKeyId, { principal });
      return principal;
    },
    createSessionPrincipal(sessionName, roleArn, expiresAt) {
      for (const [key, known] of byKey) if (isExpired(known)) byKey.delete(key);
      return createPrincipal(sessionName, roleArn, { expiresAt });
    },
    byKey(accessKeyId) {
      const known = byKey.get(accessKeyId);
      return known === undefined || isExpired(known) ? undefined : known.principal;
    },
    findDenial(principal, permissions) {
      if (principal.isOwner === true) return undefined;
      const evaluate = evaluatorOf(principal.roleArn);
      for (const permission of permissions) {
        const decision = evaluate({ ...permission, context: { ...permission.context, ...principal.context } });
        if (decision !== 'allowed') return denialMessage(principal.arn, permission, decision);
      }
      return undefined;
    },
  };
}

/** A service that uses a role of the template, as the scheduler does. */
export const servicePrincipal = (service: string, roleArn: string): Pick<Principal, 'arn' | 'roleArn'> => ({
  arn: arn('sts', `assumed-role/${lastPart(roleArn)}/${service}`),
  roleArn,
});
