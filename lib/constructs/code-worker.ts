/** Permissions and environment variables of a worker process, which runs deployed code beside or instead of the code function. */
import type * as iam from 'aws-cdk-lib/aws-iam';
import type * as kms from 'aws-cdk-lib/aws-kms';
import { Construct } from 'constructs';
import { allow } from './allow.ts';
import { functionShapes } from './function-shapes.ts';
import { keyStatement } from './key-statement.ts';
import { acknowledgeDynamicResources } from './dynamic-resources.ts';
import { type PermissionName, type ProductResources, statementsOf } from './permissions.ts';

const workerPermissions: readonly PermissionName[] = [...functionShapes.code.permissions, 'take code messages'];

/** Grants the permissions to a role, a user or a managed policy. */
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
