/** What a process may do, and is told, that runs code beside the function or in its place: what the function has, and its queue. */
import type * as iam from 'aws-cdk-lib/aws-iam';
import type * as kms from 'aws-cdk-lib/aws-kms';
import { Construct } from 'constructs';
import { allow } from './allow.ts';
import { functionShapes } from './function-shapes.ts';
import { keyStatement } from './key-statement.ts';
import { acknowledgeOwnPlaces } from './own-places.ts';
import { type PermissionName, type Places, statementsOf } from './permissions.ts';

const mayAlso: readonly PermissionName[] = [...functionShapes.code.may, 'take code messages'];

/** Gives these permissions to a role, a user, or a policy of the owner's own. */
export function grantCodeWorker(
  scope: Construct,
  grantee: iam.IGrantable,
  places: Places,
  { key, codeRole }: { readonly key: kms.IKey | undefined; readonly codeRole: iam.Role | undefined },
): void {
  const statements = statementsOf(mayAlso, places);
  const uses = key === undefined ? [] : [keyStatement(scope, key, ['dynamodb', 's3', 'sqs'])];
  const lends = codeRole === undefined ? [] : [allow(['sts:AssumeRole'], [codeRole.roleArn])];
  for (const statement of [...statements, ...uses, ...lends]) grantee.grantPrincipal.addToPrincipalPolicy(statement);
  if (Construct.isConstruct(grantee)) acknowledgeOwnPlaces(grantee, mayAlso, places);
}
