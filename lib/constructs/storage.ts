/** Everything that holds data. Its logical ids are a promise: another id is another, empty table. */
import { Duration, RemovalPolicy, Stack, Validations } from 'aws-cdk-lib';
import * as dynamodb from 'aws-cdk-lib/aws-dynamodb';
import type * as kms from 'aws-cdk-lib/aws-kms';
import * as s3 from 'aws-cdk-lib/aws-s3';
import * as secretsmanager from 'aws-cdk-lib/aws-secretsmanager';
import { Construct } from 'constructs';
import { controlTableKeys, installationTag, runsTableKeys } from '../contract/environment.ts';
import { payloadLifetimeTag, payloadLifetimes } from '../contract/payload-lifetimes.ts';
import { checkRanges } from './ranges.ts';

export interface StorageProps {
  /** Days for which an ended run is kept after its latest end, a day after its deadline: 1 to 3650. Default: 30. */
  readonly retentionDays?: number;
  /**
   * Whether tables, bucket and their data outlive the stack. Default: true; false only where everything may be lost. Even
   * then the bucket must be emptied by hand first.
   */
  readonly keepsDataOnDelete?: boolean;
  /**
   * Encrypts tables and bucket, and, unless the runtime is given another, queues and logs. Default: keys owned by AWS.
   * The policy of a key from elsewhere must let CloudWatch Logs use it for this account's log groups.
   */
  readonly encryptionKey?: kms.IKey;
  /** Receives the bucket's access logs. Default: none are written. */
  readonly accessLogsBucket?: s3.IBucket;
  /** Capacity the Runs table is ready for at once. A new on-demand table takes 4,000 writes a second. Default: that. */
  readonly warmThroughput?: dynamodb.WarmThroughput;
}

const stringAttribute = (name: string): dynamodb.Attribute => ({ name, type: dynamodb.AttributeType.STRING });

export class Storage extends Construct {
  readonly runsTable: dynamodb.Table;
  readonly controlTable: dynamodb.Table;
  readonly bucket: s3.Bucket;
  /** the text of the first admin key; made empty, and filled when the runtime is deployed */
  readonly firstKeySecret: secretsmanager.CfnSecret;
  readonly encryptionKey: kms.IKey | undefined;
  readonly retentionDays: number;

  constructor(scope: Construct, id: string, props: StorageProps = {}) {
    super(scope, id);
    this.encryptionKey = props.encryptionKey;
    this.retentionDays = props.retentionDays ?? 30;
    checkRanges(this, [{ name: 'retentionDays', value: this.retentionDays, from: 1, to: 3650 }]);

    const retainsData = props.keepsDataOnDelete ?? true;
    const removalPolicy = retainsData ? RemovalPolicy.RETAIN : RemovalPolicy.DESTROY;
    // AWS::DynamoDB::Table and not GlobalTable: a commit is a conditional write, and an eventual replica in another region
    // would accept the same commit twice. This resource type cannot grow one.
    const tableProps = {
      billingMode: dynamodb.BillingMode.PAY_PER_REQUEST,
      pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
      deletionProtection: retainsData,
      removalPolicy,
      ...(props.encryptionKey === undefined
        ? {}
        : { encryption: dynamodb.TableEncryption.CUSTOMER_MANAGED, encryptionKey: props.encryptionKey }),
    };
    this.runsTable = new dynamodb.Table(this, 'RunsTable', {
      ...tableProps,
      partitionKey: stringAttribute(runsTableKeys.partition),
      sortKey: stringAttribute(runsTableKeys.sort),
      timeToLiveAttribute: runsTableKeys.expiry,
      ...(props.warmThroughput === undefined ? {} : { warmThroughput: props.warmThroughput }),
    });
    for (const index of [runsTableKeys.byProject, runsTableKeys.byState]) {
      this.runsTable.addGlobalSecondaryIndex({
        indexName: index.name,
        partitionKey: stringAttribute(index.partition),
        sortKey: stringAttribute(index.sort),
        projectionType: dynamodb.ProjectionType.KEYS_ONLY,
      });
    }
    this.controlTable = new dynamodb.Table(this, 'ControlTable', {
      ...tableProps,
      partitionKey: stringAttribute(controlTableKeys.partition),
      sortKey: stringAttribute(controlTableKeys.sort),
      timeToLiveAttribute: controlTableKeys.expiry,
    });

    // Not the library's own Secret: it would have a value made up for it that is no key.
    this.firstKeySecret = new secretsmanager.CfnSecret(this, 'FirstKey', {
      description: 'Stepwell: the first admin key',
      tags: [{ key: installationTag, value: Stack.of(this).stackName }],
      ...(props.encryptionKey === undefined ? {} : { kmsKeyId: props.encryptionKey.keyArn }),
    });
    this.firstKeySecret.applyRemovalPolicy(removalPolicy);
    Validations.of(this.firstKeySecret).acknowledge({
      id: 'AwsSolutions-SMG4',
      reason:
        'Nothing reads this secret but the operator, once: a function that changed the key by itself would lock its owners out. It is changed by POST /v1/keys/{keyId}/rotate or revoked.',
    });

    // Not versioned: every object is written once under a name that nothing else has, and one that has expired must be gone.
    this.bucket = new s3.Bucket(this, 'Bucket', {
      blockPublicAccess: s3.BlockPublicAccess.BLOCK_ALL,
      objectOwnership: s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
      enforceSSL: true,
      minimumTLSVersion: 1.2,
      removalPolicy,
      ...(props.encryptionKey === undefined
        ? { encryption: s3.BucketEncryption.S3_MANAGED }
        : { encryption: s3.BucketEncryption.KMS, encryptionKey: props.encryptionKey, bucketKeyEnabled: true }),
      ...(props.accessLogsBucket === undefined
        ? {}
        : { serverAccessLogsBucket: props.accessLogsBucket, serverAccessLogsPrefix: 'stepwell/' }),
      lifecycleRules: [
        { id: 'incomplete-uploads', abortIncompleteMultipartUploadAfter: Duration.days(1) },
        // Whoever writes a payload says by a tag how long it is needed; no rule depends on the retention, which may change.
        ...payloadLifetimes.map((days) => ({
          id: `payloads-${days}-days`,
          prefix: payloadPrefix,
          tagFilters: { [payloadLifetimeTag]: String(days) },
          expiration: Duration.days(days),
        })),
        // Nothing stays for good. The shortest lifetime that fits counts, so this one shortens none.
        { id: 'payloads-without-lifetime', prefix: payloadPrefix, expiration: Duration.days(Math.max(...payloadLifetimes)) },
      ],
    });
    if (props.accessLogsBucket === undefined) {
      Validations.of(this.bucket).acknowledge({
        id: 'AwsSolutions-S1',
        reason:
          'Only the roles of the functions read this bucket, and who did is in CloudTrail data events where an account keeps them; accessLogsBucket turns server access logs on.',
      });
    }
  }
}

/** Where values too large for an item are kept. */
export const payloadPrefix = 'payloads/';
/** Where the archives of deployments are kept: until they are removed, whatever expires. */
export const artifactPrefix = 'artifacts/';
