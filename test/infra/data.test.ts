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

test('the logical ids of what holds data stay as they were first deployed', () => {
  const ids = data.filter(({ Type }) => holdsData.includes(Type)).map(({ id, Type }) => [id, Type]);
  expect(ids).toEqual([
    ['StorageRunsTableF5CFB6AB', 'AWS::DynamoDB::Table'],
    ['StorageControlTableC163098D', 'AWS::DynamoDB::Table'],
    ['StorageFirstKey1DB15F96', 'AWS::SecretsManager::Secret'],
    ['StorageBucket5CB7C8EA', 'AWS::S3::Bucket'],
  ]);
});

test('a Stepwell placed in another stack keeps its data under stable ids too', () => {
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

test('the runtime stack holds no data', () => {
  expect(runtime.filter(({ Type }) => holdsData.includes(Type))).toEqual([]);
});

test('what holds data outlives its stack', () => {
  for (const resource of data.filter(({ Type }) => holdsData.includes(Type))) {
    expect(resource, resource.id).toMatchObject({ DeletionPolicy: 'Retain', UpdateReplacePolicy: 'Retain' });
  }
  expect(manifest).toMatchObject({ artifacts: { 'Stepwell-Data': { properties: { terminationProtection: true } } } });
});

test('tables are protected from deletion, can be restored to any second, and are paid by the request', () => {
  expect(tables).toHaveLength(2);
  for (const table of tables) {
    expect(table.Properties, table.id).toMatchObject({
      DeletionProtectionEnabled: true,
      PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
      BillingMode: 'PAY_PER_REQUEST',
    });
  }
});

test('the keys of the tables are those of the contract, and nothing else is declared', () => {
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

test('the bucket is closed to the public, encrypted, and drops uploads that were never finished', () => {
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

test('the bucket refuses whoever comes without TLS', () => {
  const [policy] = ofType(data, 'S3::BucketPolicy');
  expect(policy?.Properties).toMatchObject({
    PolicyDocument: {
      Statement: expect.arrayContaining([
        expect.objectContaining({ Effect: 'Deny', Action: 's3:*', Condition: { Bool: { 'aws:SecureTransport': 'false' } } }),
      ]),
    },
  });
});

test('only whoever says so gets a stack that takes its data along', () => {
  const { data: loose, manifest: written } = synthesize({ keepsDataOnDelete: 'false' });
  for (const resource of loose.filter(({ Type }) => holdsData.includes(Type))) {
    expect(resource.DeletionPolicy, resource.id).toBe('Delete');
  }
  expect(written).not.toMatchObject({ artifacts: { 'Stepwell-Data': { properties: { terminationProtection: true } } } });
});
