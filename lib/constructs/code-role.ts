/** The role that gives deployed code its AWS permissions. Only the code function and, if allowed, worker processes can assume it. */
import { Stack } from 'aws-cdk-lib';
import * as iam from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import { allow } from './allow.ts';

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
