/** One Lambda function with its own role and its own log group. */
import { defined } from '../engine/defined.ts';
import { join } from 'node:path';
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
import { keyStatement } from './key-statement.ts';
import { acknowledgeDynamicResources } from './dynamic-resources.ts';
import { type ProductResources, permissions, statementsOf } from './permissions.ts';
import { acknowledgeWildcard } from './wildcards.ts';

export interface Network {
  readonly vpc: ec2.IVpc;
  /** Default: the private subnets. */
  readonly subnets?: ec2.SubnetSelection;
  /** Default: one group of the function's own. */
  readonly securityGroups?: readonly ec2.ISecurityGroup[];
}

export interface ProductFunctionProps {
  readonly name: FunctionName;
  readonly shape: FunctionShape;
  /** Folder with `<name>/index.mjs`. */
  readonly directory: string;
  readonly resources: ProductResources;
  /** Every name that a function may be told, with its value. */
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
  readonly memoryMb: number;
  readonly #environment: Record<string, string>;

  /** what it is told, by the names of its environment */
  get environment(): Readonly<Record<string, string>> {
    return this.#environment;
  }

  constructor(scope: Construct, id: string, props: ProductFunctionProps) {
    super(scope, id);
    const { name, shape, resources, encryptionKey, network } = props;
    this.consumesQueues = shape.consumesQueues === true;
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
        // The maps beside the bundle are for people: they would only make a cold start longer.
        code: lambda.Code.fromAsset(join(props.directory, name), { exclude: ['*.map'] }),
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
        // A function that no queue starts keeps the default, which is to end loops.
        recursiveLoop: this.consumesQueues ? lambda.RecursiveLoop.ALLOW : undefined,
        reservedConcurrentExecutions: props.reservedConcurrency,
        ...(network === undefined ? {} : networkProps(network)),
      }),
    );
    checkEnvironmentSize(this.lambda, name);
    if (network !== undefined) this.allowNetworkInterfaces();
    acknowledgeDynamicResources(this.role, shape.permissions, resources);
  }

  /** Of what is there only when it is. */
  setVariable(name: EnvironmentName, value: string): void {
    this.#environment[environmentNames[name]] = value;
    this.lambda.addEnvironment(environmentNames[name], value);
  }

  /** Starts the function with messages of the queue. Only the messages that it names as failed come back. */
  consume(id: string, queue: sqs.IQueue, limits: { readonly batchSize: number; readonly maxConcurrency: number }): void {
    if (!this.consumesQueues) {
      throw new Error(
        `${this.node.path} consumes the queue ${queue.node.id}, and its shape does not say so: set consumesQueues in lib/constructs/function-shapes.ts. Without it Lambda drops recursive invocations after 16 invocations.`,
      );
    }
    // Not the library's own event source: it would grant more, and the use of the key without going through SQS.
    this.role.addToPolicy(
      new iam.PolicyStatement({
        actions: ['sqs:DeleteMessage', 'sqs:GetQueueAttributes', 'sqs:ReceiveMessage'],
        resources: [queue.queueArn],
        // Lambda polls with the function's role, and its requests have no source function. Those of the function's own code have one:
        // they may neither take nor delete messages. (Lambda Developer Guide, "Using source function ARN to control function access")
        conditions: { Null: { 'lambda:SourceFunctionArn': 'true' } },
      }),
    );
    this.lambda.addEventSourceMapping(id, { eventSourceArn: queue.queueArn, reportBatchItemFailures: true, ...limits });
  }

  /** A function in a VPC makes its own network interfaces, and EC2 takes no resource for that. */
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
      'Lambda makes and removes network interfaces in the VPC with these actions, which take no resource.',
    );
  }
}

const networkProps = ({ vpc, subnets, securityGroups }: Network) =>
  defined({
    vpc,
    vpcSubnets: subnets,
    securityGroups: securityGroups === undefined ? undefined : [...securityGroups],
  });
