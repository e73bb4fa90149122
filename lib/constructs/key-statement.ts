import { Stack } from 'aws-cdk-lib';
import * as iam from 'aws-cdk-lib/aws-iam';
import type * as kms from 'aws-cdk-lib/aws-kms';
import type { Construct } from 'constructs';

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
