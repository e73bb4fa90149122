import { defined } from '../base/defined.ts';
import { CrossStackReferences, ReferenceStrength, Stack } from 'aws-cdk-lib';
import * as iam from 'aws-cdk-lib/aws-iam';
import * as kms from 'aws-cdk-lib/aws-kms';
import type { Construct } from 'constructs';
import { Storage } from '../constructs/storage.ts';
import { type Settings, environmentOf } from './settings.ts';

/** The stack with data, which is retained: tables, bucket and, with the setting `encryptionKey: own`, their KMS key. */
export class DataStack extends Stack {
  readonly storage: Storage;

  constructor(scope: Construct, id: string, settings: Settings) {
    super(scope, id, {
      description: 'Stepwell: stored data',
      env: environmentOf(settings),
      terminationProtection: settings.keepsDataOnDelete,
    });
    const key = keyOf(this, settings);
    this.storage = new Storage(
      this,
      'Storage',
      defined({
        keepsDataOnDelete: settings.keepsDataOnDelete,
        retentionDays: settings.retentionDays,
        encryptionKey: key,
      }),
    );
    // Strong references: CloudFormation refuses to remove resources that the runtime stack uses.
    for (const resource of [
      this.storage.runsTable,
      this.storage.controlTable,
      this.storage.bucket,
      this.storage.firstKeySecret,
      ...(key instanceof kms.Key ? [key] : []),
    ]) {
      CrossStackReferences.of(resource).produce(ReferenceStrength.STRONG);
    }
  }
}

function keyOf(stack: Stack, { encryptionKey }: Settings): kms.IKey | undefined {
  if (encryptionKey === undefined) return undefined;
  return encryptionKey === 'own' ? createKey(stack) : kms.Key.fromKeyArn(stack, 'Key', encryptionKey);
}

function createKey(stack: Stack): kms.Key {
  const key = new kms.Key(stack, 'Key', { description: 'Stepwell: stored data', enableKeyRotation: true });
  key.addToResourcePolicy(
    new iam.PolicyStatement({
      principals: [new iam.ServicePrincipal(`logs.${stack.region}.amazonaws.com`)],
      actions: ['kms:Encrypt', 'kms:Decrypt', 'kms:ReEncryptFrom', 'kms:ReEncryptTo', 'kms:GenerateDataKey', 'kms:DescribeKey'],
      // In a key policy, `*` means this key.
      resources: ['*'],
      conditions: { ArnLike: { 'kms:EncryptionContext:aws:logs:arn': stack.formatArn({ service: 'logs', resource: '*' }) } },
    }),
  );
  return key;
}
