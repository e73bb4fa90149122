/** Every role of the template with all of its statements: inline, attached and managed. */
import * as z from 'zod';
import type { Template } from '../template/template.ts';
import { TemplateError } from '../template/template-error.ts';
import { parsePolicy, type Statement } from './evaluate.ts';

/** Statements by the ARN of a role or of a managed policy. */
export type Roles = ReadonlyMap<string, readonly Statement[]>;

const inlineShape = z.array(z.looseObject({ PolicyName: z.unknown(), PolicyDocument: z.unknown() })).default([]);
const namesShape = z.array(z.string()).default([]);

/** AWS's own policies for functions and APIs. They concern logs and traces, which the embedded cloud does not implement. */
const ignoredManagedPolicies =
  /:aws:policy\/(service-role\/(AWSLambdaBasicExecutionRole|AmazonAPIGatewayPushToCloudWatchLogs)|AWSXRayDaemonWriteAccess|AWSXrayWriteOnlyAccess)$/;

const trustShape = z.looseObject({
  Statement: z.array(z.looseObject({ Effect: z.literal('Allow'), Principal: z.looseObject({ AWS: z.unknown() }) })),
});

/** The principals of each role's trust policy, by the role's ARN. Services are omitted. */
export function readTrust(template: Template): ReadonlyMap<string, readonly string[]> {
  return new Map(
    template.of('AWS::IAM::Role').flatMap(({ arn, properties }) => {
      const statements = trustShape.safeParse(properties['AssumeRolePolicyDocument']).data?.Statement ?? [];
      const named = statements.flatMap(({ Principal }) => Principal.AWS).filter((one) => typeof one === 'string');
      return arn === undefined ? [] : [[arn, named] as const];
    }),
  );
}

export function readRoles(template: Template): Roles {
  const roles = new Map<string, Statement[]>();
  const arnOfName = new Map<string, string>();
  const managed = new Map<string, readonly Statement[]>();
  const attachStatements = (roleName: string, statements: readonly Statement[], origin: string): void => {
    const role = roles.get(arnOfName.get(roleName) ?? '');
    if (role === undefined) throw new TemplateError(`${origin} is attached to the role ${roleName}, which is in no stack`);
    role.push(...statements);
  };

  for (const { name, arn, properties, logicalId } of template.of('AWS::IAM::Role')) {
    if (arn === undefined) continue;
    arnOfName.set(name, arn);
    const inline = inlineShape.parse(properties['Policies']).flatMap((policy) => parsePolicy(policy.PolicyDocument, logicalId));
    roles.set(arn, [...inline]);
  }
  for (const { properties, logicalId } of template.of('AWS::IAM::Policy')) {
    const statements = parsePolicy(properties['PolicyDocument'], logicalId);
    for (const role of namesShape.parse(properties['Roles'])) attachStatements(role, statements, logicalId);
  }
  for (const { ref, properties, logicalId } of template.of('AWS::IAM::ManagedPolicy')) {
    const statements = parsePolicy(properties['PolicyDocument'], logicalId);
    managed.set(ref, statements);
    roles.set(ref, [...statements]);
    for (const role of namesShape.parse(properties['Roles'])) attachStatements(role, statements, logicalId);
  }
  for (const { name, properties, logicalId } of template.of('AWS::IAM::Role')) {
    for (const policyArn of namesShape.parse(properties['ManagedPolicyArns'])) {
      const statements = managed.get(policyArn);
      if (statements !== undefined) attachStatements(name, statements, logicalId);
      else if (!ignoredManagedPolicies.test(policyArn)) {
        throw new TemplateError(`${logicalId}: the managed policy ${policyArn} is not implemented by the embedded cloud`);
      }
    }
  }
  return roles;
}
