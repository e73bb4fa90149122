/** What a process may do, and is told, that runs code beside the function or in its place: what the function has, and its queue. */
import type * as iam from 'aws-cdk-lib/aws-iam';
import type * as kms from 'aws-cdk-lib/aws-kms';
import { Construct } from 'constructs';
import { allow } from './allow.ts';
import { functionShapes } from './function-shapes.ts';
import { keyStatement } from './key-statement.ts';
import { acknowledgeDynamicResources } from './dynamic-resources.ts';
import { type PermissionName, type ProductResources, statementsOf } from './permissions.ts';

const workerPermissions: readonly PermissionName[] = [...functionShapes.code.permissions, 'take code messages'];

/** Gives these permissions to a role, a user, or a policy of the owner's own. */
export function grantCodeWorker(
  scope: Construct,
  grantee: iam.IGrantable,
  resources: ProductResources,
  { key, codeRole }: { readonly key: kms.IKey | undefined; readonly codeRole: iam.Role | undefined },
): void {
  const statements = statementsOf(workerPermissions, resources);
  const keyStatements = key === undefined ? [] : [keyStatement(scope, key, ['dynamodb', 's3', 'sqs'])];
  const assumeRoleStatements = codeRole === undefined ? [] : [allow(['sts:AssumeRole'], [codeRole.roleArn])];
  for (const statement of [...statements, ...keyStatements, ...assumeRoleStatements])
    grantee.grantPrincipal.addToPrincipalPolicy(statement);
  if (Construct.isConstruct(grantee)) acknowledgeDynamicResources(grantee, workerPermissions, resources);
}
