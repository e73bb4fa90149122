/** IAM statements: actions, resources and conditions. */
import * as iam from 'aws-cdk-lib/aws-iam';

export const allow = (actions: readonly string[], resources: readonly string[], conditions: Record<string, unknown> = {}) =>
  new iam.PolicyStatement({ actions: [...actions], resources: [...resources], conditions });

/** Limits a statement to partitions whose keys match the patterns. */
export const partitionCondition = (...patterns: readonly string[]) => ({
  'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': patterns },
  // ForAllValues is true for a request without leading keys, so require that the key is present.
  Null: { 'dynamodb:LeadingKeys': 'false' },
});
