import { App, Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { expect, test } from 'vitest';
import { Stepwell } from '../../lib/constructs/stepwell.ts';
import { controlTableKeys, runsTableKeys } from '../../lib/contract/environment.ts';
import { emptyBundles, ofType, resourcesIn, synthesize } from './synthesized.ts';

const { data, runtime, manifest } = synthesize();
const holdsData = [
  'AWS::DynamoDB::Table',
  'AWS::DynamoDB::GlobalTable',
  'AWS::S3::Bucket',
  'AWS::KMS::Key',
  'AWS::SecretsManager::Secret',
];
const tables = ofType(data, 'DynamoDB::Table');

test('the logical ids of resources with data never change', () => {
  const ids = data.filter(({ Type }) => holdsData.includes(Type)).map(({ id, Type }) => [id, Type]);
  expect(ids).toEqual([
    ['StorageRunsTableF5CFB6AB', 'AWS::DynamoDB::Table'],
    ['StorageControlTableC163098D', 'AWS::DynamoDB::Table'],
    ['StorageFirstKey1DB15F96', 'AWS::SecretsManager::Secret'],
    ['StorageBucket5CB7C8EA', 'AWS::S3::Bucket'],
  ]);
});

test('the construct in another stack also has stable logical ids for its data', () => {
  const stack = new Stack(new App({ builtinCloudFormationValidation: false }), 'Elsewhere');
  new Stepwell(stack, 'Stepwell', { functionsDirectory: emptyBundles() });
  const resources = resourcesIn(JSON.stringify(Template.fromStack(stack).toJSON()));
  expect(resources.filter(({ Type }) => holdsData.includes(Type)).map(({ id }) => id)).toEqual([
    'StepwellStorageRunsTable3000661C',
    'StepwellStorageControlTableF5927626',
    'StepwellStorageFirstKeyB00EE47B',
    'StepwellStorageBucketBBD2BF9A',
  ]);
});

test('the runtime stack contains no data', () => {
  expect(runtime.filter(({ Type }) => holdsData.includes(Type))).toEqual([]);
});

test('resources with data are retained when the stack is deleted', () => {
  for (const resource of data.filter(({ Type }) => holdsData.includes(Type))) {
    expect(resource, resource.id).toMatchObject({ DeletionPolicy: 'Retain', UpdateReplacePolicy: 'Retain' });
  }
  expect(manifest).toMatchObject({ artifacts: { 'Stepwell-Data': { properties: { terminationProtection: true } } } });
});

test('tables have deletion protection, point-in-time recovery and on-demand capacity', () => {
  expect(tables).toHaveLength(2);
  for (const table of tables) {
    expect(table.Properties, table.id).toMatchObject({
      DeletionProtectionEnabled: true,
      PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
      BillingMode: 'PAY_PER_REQUEST',
    });
  }
});

test('the tables have exactly the keys and indexes of the contract', () => {
  const [runs, control] = tables;
  const { byProject, byState } = runsTableKeys;
  const keyed = (partition: string, sort: string) => [
    { AttributeName: partition, KeyType: 'HASH' },
    { AttributeName: sort, KeyType: 'RANGE' },
  ];
  expect(runs?.Properties).toMatchObject({
    KeySchema: keyed(runsTableKeys.partition, runsTableKeys.sort),
    TimeToLiveSpecification: { AttributeName: runsTableKeys.expiry, Enabled: true },
    GlobalSecondaryIndexes: [byProject, byState].map(({ name, partition, sort }) => ({
      IndexName: name,
      KeySchema: keyed(partition, sort),
      Projection: { ProjectionType: 'KEYS_ONLY' },
    })),
  });
  expect(control?.Properties).toMatchObject({
    KeySchema: keyed(controlTableKeys.partition, controlTableKeys.sort),
    TimeToLiveSpecification: { AttributeName: controlTableKeys.expiry, Enabled: true },
  });
  expect(control?.Properties).not.toHaveProperty('GlobalSecondaryIndexes');
});

test('the bucket is private, encrypted and deletes incomplete uploads', () => {
  const [bucket] = ofType(data, 'S3::Bucket');
  expect(bucket?.Properties).toMatchObject({
    PublicAccessBlockConfiguration: {
      BlockPublicAcls: true,
      BlockPublicPolicy: true,
      IgnorePublicAcls: true,
      RestrictPublicBuckets: true,
    },
    BucketEncryption: { ServerSideEncryptionConfiguration: [{ ServerSideEncryptionByDefault: { SSEAlgorithm: 'AES256' } }] },
    LifecycleConfiguration: {
      Rules: expect.arrayContaining([expect.objectContaining({ AbortIncompleteMultipartUpload: { DaysAfterInitiation: 1 } })]),
    },
  });
});

test('the bucket refuses requests without TLS', () => {
  const [policy] = ofType(data, 'S3::BucketPolicy');
  expect(policy?.Properties).toMatchObject({
    PolicyDocument: {
      Statement: expect.arrayContaining([
        expect.objectContaining({ Effect: 'Deny', Action: 's3:*', Condition: { Bool: { 'aws:SecureTransport': 'false' } } }),
      ]),
    },
  });
});

test('only an explicit setting lets a stack delete its data', () => {
  const { data: loose, manifest: written } = synthesize({ keepsDataOnDelete: 'false' });
  for (const resource of loose.filter(({ Type }) => holdsData.includes(Type))) {
    expect(resource.DeletionPolicy, resource.id).toBe('Delete');
  }
  expect(written).not.toMatchObject({ artifacts: { 'Stepwell-Data': { properties: { terminationProtection: true } } } });
});
