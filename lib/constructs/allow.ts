/** Statements of roles: what may be done, with what, and in which part of it. */
import * as iam from 'aws-cdk-lib/aws-iam';

export const allow = (actions: readonly string[], resources: readonly string[], conditions: Record<string, unknown> = {}) =>
  new iam.PolicyStatement({ actions: [...actions], resources: [...resources], conditions });

/** The partitions of the control table whose keys match, and no others: a role without them cannot reach a key or a pointer. */
export const partitionCondition = (...patterns: readonly string[]) => ({
  'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': patterns },
  // A request that names no partition has no value that could be wrong.
  Null: { 'dynamodb:LeadingKeys': 'false' },
});
