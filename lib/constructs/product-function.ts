/** One Lambda function with its own role and log group. */
import { defined } from '../base/defined.ts';
import { Duration, RemovalPolicy, Size } from 'aws-cdk-lib';
import type * as ec2 from 'aws-cdk-lib/aws-ec2';
import * as iam from 'aws-cdk-lib/aws-iam';
import type * as kms from 'aws-cdk-lib/aws-kms';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import * as logs from 'aws-cdk-lib/aws-logs';
import type * as sqs from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { type EnvironmentName, type FunctionName, environmentNames } from '../contract/environment.ts';
import { checkEnvironmentSize } from './environment-size.ts';
import { type FunctionShape, commonEnvironment } from './function-shapes.ts';
import { acknowledgeWildcard, allow, keyStatement } from './statements.ts';
import { acknowledgeDynamicResources, permissions, statementsOf } from './permissions.ts';
import type { ProductResources } from './resources.ts';

export interface Network {
  readonly vpc: ec2.IVpc;
  /** default: the private subnets */
  readonly subnets?: ec2.SubnetSelection;
  /** default: a security group for each function */
  readonly securityGroups?: readonly ec2.ISecurityGroup[];
}

export interface ProductFunctionProps {
  readonly name: FunctionName;
  readonly shape: FunctionShape;
  /** directory of its bundle, with `index.mjs` */
  readonly directory: string;
  readonly resources: ProductResources;
  /** values of all environment variables that functions can receive */
  readonly values: Readonly<Record<EnvironmentName, string>>;
  readonly encryptionKey: kms.IKey | undefined;
  readonly network: Network | undefined;
  readonly logRetention: logs.RetentionDays;
  readonly reservedConcurrency: number | undefined;
}

export class ProductFunction extends Construct {
  readonly lambda: lambda.Function;
  readonly role: iam.Role;
  readonly consumesQueues: boolean;
  /** a chain of messages may invoke it without limit */
  readonly allowsLoops: boolean;
  readonly memoryMb: number;
  readonly #environment: Record<string, string>;

  /** names of its environment variables */
  get environment(): Readonly<Record<string, string>> {
    return this.#environment;
  }

  constructor(scope: Construct, id: string, props: ProductFunctionProps) {
    super(scope, id);
    const { name, shape, resources, encryptionKey, network } = props;
    this.consumesQueues = shape.consumesQueues === true;
    this.allowsLoops = this.consumesQueues || shape.isInvokedByCode === true;
    this.memoryMb = shape.memoryMb;
    this.role = new iam.Role(this, 'Role', {
      description: `Stepwell: ${shape.description.toLowerCase()}`,
      assumedBy: new iam.ServicePrincipal('lambda.amazonaws.com'),
    });
    const logGroup = new logs.LogGroup(
      this,
      'Logs',
      defined({
        retention: props.logRetention,
        removalPolicy: RemovalPolicy.DESTROY,
        encryptionKey,
      }),
    );
    logGroup.grantWrite(this.role);

    const granted = shape.permissions.map((permission) => permissions[permission]);
    for (const statement of statementsOf(shape.permissions, resources)) this.role.addToPolicy(statement);
    const secrets = shape.permissions.includes('store the first key') ? (['secretsmanager'] as const) : [];
    if (encryptionKey !== undefined)
      this.role.addToPolicy(keyStatement(this, encryptionKey, ['dynamodb', 's3', 'sqs', ...secrets]));
    const variableNames = new Set<EnvironmentName>([
      ...granted.flatMap((permission) => permission.environment),
      ...(shape.extraEnvironment ?? []),
      ...commonEnvironment,
    ]);

    this.#environment = Object.fromEntries([...variableNames].map((key) => [environmentNames[key], props.values[key]]));

    this.lambda = new lambda.Function(
      this,
      'Function',
      defined({
        description: shape.description,
        // Source maps are for debugging; in the bundle they would slow down cold starts.
        code: lambda.Code.fromAsset(props.directory, { exclude: ['*.map'] }),
        handler: 'index.handler',
        runtime: lambda.Runtime.NODEJS_24_X,
        architecture: lambda.Architecture.ARM_64,
        memorySize: shape.memoryMb,
        timeout: Duration.seconds(shape.timeoutSeconds),
        ephemeralStorageSize: shape.diskMb === undefined ? undefined : Size.mebibytes(shape.diskMb),
        role: this.role,
        logGroup,
        loggingFormat: lambda.LoggingFormat.JSON,
        environment: { ...this.#environment },
        // A function that consumes no queue keeps Lambda's default, which ends recursive loops.
        recursiveLoop: this.allowsLoops ? lambda.RecursiveLoop.ALLOW : undefined,
        reservedConcurrentExecutions: props.reservedConcurrency,
        ...(network === undefined ? {} : networkProps(network)),
      }),
    );
    checkEnvironmentSize(this.lambda, name);
    if (network !== undefined) this.allowNetworkInterfaces();
    acknowledgeDynamicResources(this.role, shape.permissions, resources);
  }

  allowInvoking(other: ProductFunction): void {
    this.role.addToPolicy(allow(['lambda:InvokeFunction'], [other.lambda.functionArn]));
  }

  /** Variables of resources that exist only in some deployments. */
  setVariable(name: EnvironmentName, value: string): void {
    this.#environment[environmentNames[name]] = value;
    this.lambda.addEnvironment(environmentNames[name], value);
  }

  /** Invokes the function with messages of the queue. SQS redelivers only the messages that the function reports as failed. */
  consume(id: string, queue: sqs.IQueue, limits: { readonly batchSize: number; readonly maxConcurrency: number }): void {
    if (!this.consumesQueues) {
      throw new Error(
        `${this.node.path} consumes the queue ${queue.node.id} without consumesQueues in its shape. Set it in lib/constructs/function-shapes.ts: without it, Lambda ends message chains after 16 invocations.`,
      );
    }
    // Not the CDK's SqsEventSource: it grants more actions, and direct use of the KMS key.
    this.role.addToPolicy(
      new iam.PolicyStatement({
        actions: ['sqs:DeleteMessage', 'sqs:GetQueueAttributes', 'sqs:ReceiveMessage'],
        resources: [queue.queueArn],
        // The event source mapping polls with the function's role, and its requests have no source function. Requests of the function's
        // code have one, so they can neither receive nor delete messages. (Lambda Developer Guide, "Using source function ARN to
        // control function access")
        conditions: { Null: { 'lambda:SourceFunctionArn': 'true' } },
      }),
    );
    this.lambda.addEventSourceMapping(id, { eventSourceArn: queue.queueArn, reportBatchItemFailures: true, ...limits });
  }

  /** A function in a VPC creates network interfaces. EC2 supports no resource-level permissions for that. */
  private allowNetworkInterfaces(): void {
    this.role.addToPolicy(
      new iam.PolicyStatement({
        actions: [
          'ec2:AssignPrivateIpAddresses',
          'ec2:CreateNetworkInterface',
          'ec2:DeleteNetworkInterface',
          'ec2:DescribeNetworkInterfaces',
          'ec2:DescribeSubnets',
          'ec2:UnassignPrivateIpAddresses',
        ],
        resources: ['*'],
      }),
    );
    acknowledgeWildcard(
      this.role,
      '*',
      'Lambda creates and deletes network interfaces in the VPC with these actions, which support no resources.',
    );
  }
}

const networkProps = ({ vpc, subnets, securityGroups }: Network) =>
  defined({
    vpc,
    vpcSubnets: subnets,
    securityGroups: securityGroups === undefined ? undefined : [...securityGroups],
  });
