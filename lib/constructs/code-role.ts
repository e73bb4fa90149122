/** The role with which the code of deployments asks AWS. It is lent to the function that runs that code, and to nobody else. */
import * as iam from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import { allow } from './allow.ts';

interface CodeRoleProps {
  /** of the function that runs the code */
  readonly lender: iam.Role;
  readonly permissions: readonly iam.PolicyStatement[];
}

export class CodeRole extends Construct {
  readonly role: iam.Role;

  constructor(scope: Construct, id: string, { lender, permissions }: CodeRoleProps) {
    super(scope, id);
    this.role = new iam.Role(this, 'Role', {
      description: 'Stepwell: what the code of deployments may do in this account',
      assumedBy: new iam.ArnPrincipal(lender.roleArn),
    });
    for (const statement of permissions) this.role.addToPolicy(statement);
    lender.addToPolicy(allow(['sts:AssumeRole'], [this.role.roleArn]));
  }
}
