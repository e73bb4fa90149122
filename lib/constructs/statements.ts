/** IAM statements: actions, resources and conditions. */
import * as iam from 'aws-cdk-lib/aws-iam';
import { Stack, Validations } from 'aws-cdk-lib';
import type * as kms from 'aws-cdk-lib/aws-kms';
import type { Construct } from 'constructs';
import * as z from 'zod';

export const allow = (actions: readonly string[], resources: readonly string[], conditions: Record<string, unknown> = {}) =>
  new iam.PolicyStatement({ actions: [...actions], resources: [...resources], conditions });

/** Limits a statement to partitions whose keys match the patterns. */
export const partitionCondition = (...patterns: readonly string[]) => ({
  'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': patterns },
  // ForAllValues is true for a request without leading keys, so require that the key is present.
  Null: { 'dynamodb:LeadingKeys': 'false' },
});

/**
 * Allows use of the KMS key, but only through the named services: a role that may read a table must not decrypt data directly.
 * The actions are those that DynamoDB, S3 and SQS require for reading and writing encrypted data.
 */
export function keyStatement(
  scope: Construct,
  key: kms.IKey,
  services: readonly ('dynamodb' | 's3' | 'secretsmanager' | 'sqs')[],
): iam.PolicyStatement {
  const { region, urlSuffix } = Stack.of(scope);
  return new iam.PolicyStatement({
    actions: [
      'kms:Decrypt',
      'kms:DescribeKey',
      'kms:Encrypt',
      'kms:GenerateDataKey',
      'kms:GenerateDataKeyWithoutPlaintext',
      'kms:ReEncryptFrom',
      'kms:ReEncryptTo',
    ],
    resources: [key.keyArn],
    conditions: { StringEquals: { 'kms:ViaService': services.map((service) => `${service}.${region}.${urlSuffix}`) } },
  });
}

const joined = z.strictObject({ 'Fn::Join': z.tuple([z.string(), z.array(z.unknown())]) });
const attribute = z.strictObject({ 'Fn::GetAtt': z.tuple([z.string(), z.string()]) });
const reference = z.strictObject({ Ref: z.string() });
const imported = z.strictObject({ 'Fn::ImportValue': z.unknown() });

/**
 * The text of a resolved value in a finding of the AWS Solutions rules of cdk-nag. The package has no public function for it, and an
 * application that uses this construct need not install it.
 */
export function findingText(value: unknown): string {
  if (typeof value === 'string') return value;
  const join = joined.safeParse(value).data?.['Fn::Join'];
  if (join !== undefined) return join[1].map(findingText).join(join[0]);
  const named = attribute.safeParse(value).data?.['Fn::GetAtt'];
  if (named !== undefined) return `<${named.join('.')}>`;
  const name = reference.safeParse(value).data?.Ref;
  if (name !== undefined) return `<${name}>`;
  const exported = imported.safeParse(value).data;
  return exported === undefined ? JSON.stringify(value) : findingText(exported['Fn::ImportValue']);
}

/** Acknowledges, with a reason, that a role of this construct may access `resource`, which ends in `*`. */
export function acknowledgeWildcard(construct: Construct, resource: string, reason: string): void {
  const finding = findingText(Stack.of(construct).resolve(resource));
  Validations.of(construct).acknowledge({ id: `AwsSolutions-IAM5[Resource::${finding}]`, reason });
}

/**
 * The attribute of a resource in another stack: the name of its export. CDK tokens resolve to it only at the end of the synthesis,
 * but an acknowledgement needs it earlier.
 */
export function crossStackValue(consumer: Construct, owner: Construct, attribute: string): string {
  const ownerStack = Stack.of(owner);
  return ownerStack === Stack.of(consumer) ? attribute : ownerStack.exportValue(attribute);
}
