/** All resources with data. Their logical ids must never change: a changed id creates a new, empty table. */
import { Duration, RemovalPolicy, Stack, Validations } from 'aws-cdk-lib';
import * as dynamodb from 'aws-cdk-lib/aws-dynamodb';
import type * as kms from 'aws-cdk-lib/aws-kms';
import * as s3 from 'aws-cdk-lib/aws-s3';
import * as secretsmanager from 'aws-cdk-lib/aws-secretsmanager';
import { Construct } from 'constructs';
import { controlTableKeys, installationTag, runsTableKeys } from '../contract/environment.ts';
import { payloadLifetimeTag, payloadLifetimes } from '../contract/payload-lifetimes.ts';
import { checkRanges } from './ranges.ts';

export const defaultRetentionDays = 30;

export interface StorageProps {
  /** Days that a run is retained after the last time it can end (its deadline plus one day): 1 to 3650. Default: 30. */
  readonly retentionDays?: number;
  /**
   * Whether the tables, the bucket and their data are retained when the stack is deleted. Default: true. With false, empty the
   * bucket before you delete the stack.
   */
  readonly keepsDataOnDelete?: boolean;
  /**
   * Encrypts tables and bucket, and also queues and logs unless the runtime has its own key. Default: AWS owned keys. The policy of
   * an imported key must allow CloudWatch Logs to use it for this account's log groups.
   */
  readonly encryptionKey?: kms.IKey;
  /** Receives the bucket's access logs. Default: no access logs. */
  readonly accessLogsBucket?: s3.IBucket;
  /** Initial capacity of the Runs table. Default: that of a new on-demand table, 4,000 writes a second. */
  readonly warmThroughput?: dynamodb.WarmThroughput;
}

const stringAttribute = (name: string): dynamodb.Attribute => ({ name, type: dynamodb.AttributeType.STRING });

export class Storage extends Construct {
  readonly runsTable: dynamodb.Table;
  readonly controlTable: dynamodb.Table;
  readonly bucket: s3.Bucket;
  /** the first admin key; empty until the runtime stack is deployed */
  readonly firstKeySecret: secretsmanager.CfnSecret;
  readonly encryptionKey: kms.IKey | undefined;
  readonly retentionDays: number;

  constructor(scope: Construct, id: string, props: StorageProps = {}) {
    super(scope, id);
    this.encryptionKey = props.encryptionKey;
    this.retentionDays = props.retentionDays ?? defaultRetentionDays;
    checkRanges(this, [{ name: 'retentionDays', value: this.retentionDays, from: 1, to: 3650 }]);

    this.runsTable = createRunsTable(this, props);
    this.controlTable = new dynamodb.Table(this, 'ControlTable', {
      ...tableProps(props),
      partitionKey: stringAttribute(controlTableKeys.partition),
      sortKey: stringAttribute(controlTableKeys.sort),
      timeToLiveAttribute: controlTableKeys.expiry,
    });
    this.firstKeySecret = createFirstKeySecret(this, props);
    this.bucket = createBucket(this, props);
  }
}

const retainsData = ({ keepsDataOnDelete = true }: StorageProps): boolean => keepsDataOnDelete;
const removalPolicyOf = (props: StorageProps): RemovalPolicy =>
  retainsData(props) ? RemovalPolicy.RETAIN : RemovalPolicy.DESTROY;

function tableProps(props: StorageProps) {
  // AWS::DynamoDB::Table instead of GlobalTable: a commit is a conditional write, and an eventually consistent replica in another
  // region would accept the same commit twice. This resource type supports no replicas.
  return {
    billingMode: dynamodb.BillingMode.PAY_PER_REQUEST,
    pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
    deletionProtection: retainsData(props),
    removalPolicy: removalPolicyOf(props),
    ...(props.encryptionKey === undefined
      ? {}
      : { encryption: dynamodb.TableEncryption.CUSTOMER_MANAGED, encryptionKey: props.encryptionKey }),
  };
}

function createRunsTable(scope: Construct, props: StorageProps): dynamodb.Table {
  const runsTable = new dynamodb.Table(scope, 'RunsTable', {
    ...tableProps(props),
    partitionKey: stringAttribute(runsTableKeys.partition),
    sortKey: stringAttribute(runsTableKeys.sort),
    timeToLiveAttribute: runsTableKeys.expiry,
    ...(props.warmThroughput === undefined ? {} : { warmThroughput: props.warmThroughput }),
  });
  for (const index of [runsTableKeys.byProject, runsTableKeys.byState]) {
    runsTable.addGlobalSecondaryIndex({
      indexName: index.name,
      partitionKey: stringAttribute(index.partition),
      sortKey: stringAttribute(index.sort),
      projectionType: dynamodb.ProjectionType.KEYS_ONLY,
    });
  }
  return runsTable;
}

function createFirstKeySecret(scope: Construct, props: StorageProps): secretsmanager.CfnSecret {
  // CfnSecret, because the CDK's Secret generates a random value, which is not an API key.
  const secret = new secretsmanager.CfnSecret(scope, 'FirstKey', {
    description: 'Stepwell: the first admin key',
    tags: [{ key: installationTag, value: Stack.of(scope).stackName }],
    ...(props.encryptionKey === undefined ? {} : { kmsKeyId: props.encryptionKey.keyArn }),
  });
  secret.applyRemovalPolicy(removalPolicyOf(props));
  Validations.of(secret).acknowledge({
    id: 'AwsSolutions-SMG4',
    reason:
      'Only the operator reads this secret, once. Automatic rotation would lock out the users of the key; rotate it with POST /v1/keys/{keyId}/rotate.',
  });
  return secret;
}

function createBucket(scope: Construct, props: StorageProps): s3.Bucket {
  // Not versioned: each object is written once under a unique name, and an expired object must be deleted.
  const bucket = new s3.Bucket(scope, 'Bucket', {
    blockPublicAccess: s3.BlockPublicAccess.BLOCK_ALL,
    objectOwnership: s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
    enforceSSL: true,
    minimumTLSVersion: 1.2,
    removalPolicy: removalPolicyOf(props),
    ...(props.encryptionKey === undefined
      ? { encryption: s3.BucketEncryption.S3_MANAGED }
      : { encryption: s3.BucketEncryption.KMS, encryptionKey: props.encryptionKey, bucketKeyEnabled: true }),
    ...(props.accessLogsBucket === undefined
      ? {}
      : { serverAccessLogsBucket: props.accessLogsBucket, serverAccessLogsPrefix: 'stepwell/' }),
    lifecycleRules,
  });
  if (props.accessLogsBucket === undefined) {
    Validations.of(bucket).acknowledge({
      id: 'AwsSolutions-S1',
      reason:
        'Only the roles of the functions access this bucket. CloudTrail data events can record it; the setting accessLogsBucket turns server access logs on.',
    });
  }
  return bucket;
}

/** Prefix of offloaded payloads. */
export const payloadPrefix = 'payloads/';
/** Rules of the bucket. S3 allows 1,000. */
export const lifecycleRules: s3.LifecycleRule[] = [
  { id: 'incomplete-uploads', abortIncompleteMultipartUploadAfter: Duration.days(1) },
  // The writer of a payload tags it with a lifetime class. No rule depends on the setting for the retention, which can change.
  ...payloadLifetimes.map((days) => ({
    id: `payloads-${days}-days`,
    prefix: payloadPrefix,
    tagFilters: { [payloadLifetimeTag]: String(days) },
    expiration: Duration.days(days),
  })),
  // Fallback for untagged objects. S3 applies the shortest matching lifetime, so this one shortens no other.
  { id: 'payloads-without-lifetime', prefix: payloadPrefix, expiration: Duration.days(Math.max(...payloadLifetimes)) },
];
/** Prefix of deployment artifacts. They never expire; removing a deployment deletes them. */
export const artifactPrefix = 'artifacts/';
