/** What deployed code may do: the role that gives it AWS permissions, and the permissions of worker processes that run it. */
import { Stack } from 'aws-cdk-lib';
import * as iam from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import { allow, keyStatement } from './statements.ts';
import type * as kms from 'aws-cdk-lib/aws-kms';
import type * as lambda from 'aws-cdk-lib/aws-lambda';
import { functionShapes } from './function-shapes.ts';
import { type PermissionName, acknowledgeDynamicResources, statementsOf } from './permissions.ts';
import type { ProductResources } from './resources.ts';

interface CodeRoleProps {
  /** role of the code function */
  readonly executionRole: iam.Role;
  readonly permissions: readonly iam.PolicyStatement[];
  /** worker processes run code too: any role of the account with the permission may assume it (`grantWorker`, the worker policy) */
  readonly canProcessesAssume: boolean;
}

export class CodeRole extends Construct {
  readonly role: iam.Role;

  constructor(scope: Construct, id: string, { executionRole, permissions, canProcessesAssume }: CodeRoleProps) {
    super(scope, id);
    this.role = new iam.Role(this, 'Role', {
      description: 'Stepwell: permissions of the code of deployments in this account',
      assumedBy: new iam.ArnPrincipal(executionRole.roleArn),
    });
    if (canProcessesAssume) {
      this.role.assumeRolePolicy?.addStatements(
        new iam.PolicyStatement({ actions: ['sts:AssumeRole'], principals: [new iam.AccountPrincipal(Stack.of(this).account)] }),
      );
    }
    for (const statement of permissions) this.role.addToPolicy(statement);
    executionRole.addToPolicy(allow(['sts:AssumeRole'], [this.role.roleArn]));
  }
}

interface CodeWorkerGrants {
  readonly key: kms.IKey | undefined;
  readonly codeRole: iam.Role | undefined;
  readonly world: lambda.IFunction | undefined;
}

const workerPermissions: readonly PermissionName[] = [...functionShapes.code.permissions, 'take code messages'];

/** Grants the permissions to a role, a user or a managed policy. */
export function grantCodeWorker(
  scope: Construct,
  grantee: iam.IGrantable,
  resources: ProductResources,
  { key, codeRole, world }: CodeWorkerGrants,
): void {
  const statements = statementsOf(workerPermissions, resources);
  const keyStatements = key === undefined ? [] : [keyStatement(scope, key, ['dynamodb', 's3', 'sqs'])];
  const assumeRoleStatements = codeRole === undefined ? [] : [allow(['sts:AssumeRole'], [codeRole.roleArn])];
  // Deployed code reaches the runs that it starts through the function that serves the World.
  const invokeStatements = world === undefined ? [] : [allow(['lambda:InvokeFunction'], [world.functionArn])];
  for (const statement of [...statements, ...keyStatements, ...assumeRoleStatements, ...invokeStatements])
    grantee.grantPrincipal.addToPrincipalPolicy(statement);
  if (Construct.isConstruct(grantee)) acknowledgeDynamicResources(grantee, workerPermissions, resources);
}
