/** The role with which the code of deployments asks AWS. It is lent to whoever runs that code, and to nobody else. */
import { Stack } from 'aws-cdk-lib';
import * as iam from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import { allow } from './allow.ts';

interface CodeRoleProps {
  /** of the function that runs the code */
  readonly executionRole: iam.Role;
  readonly permissions: readonly iam.PolicyStatement[];
  /** Processes run code too: whoever in the account may ask for it (`grantWorker`, the worker's policy). */
  readonly canProcessesAssume: boolean;
}

export class CodeRole extends Construct {
  readonly role: iam.Role;

  constructor(scope: Construct, id: string, { executionRole, permissions, canProcessesAssume }: CodeRoleProps) {
    super(scope, id);
    this.role = new iam.Role(this, 'Role', {
      description: 'Stepwell: what the code of deployments may do in this account',
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
