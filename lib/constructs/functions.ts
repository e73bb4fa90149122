/** The functions of the product that are bundled, and what makes them run: queues, dead letters. The HTTP API is beside it. */
import type * as iam from 'aws-cdk-lib/aws-iam';
import type * as kms from 'aws-cdk-lib/aws-kms';
import type * as logs from 'aws-cdk-lib/aws-logs';
import { Construct, type IDependable } from 'constructs';
import { minConcurrency } from '../contract/concurrency.ts';
import { type EnvironmentName, type FunctionName, environmentNames } from '../contract/environment.ts';
import { type StoredSettingName, storedSettingNames } from '../contract/stored-settings.ts';
import { bundledFunctions } from './bundled-functions.ts';
import { CodeRole } from './code-role.ts';
import { functionShapes } from './function-shapes.ts';
import type { ProductResources } from './permissions.ts';
import { type Network, ProductFunction } from './product-function.ts';
import type { StoredSetting } from './stored-settings.ts';

export interface FunctionsProps {
  readonly directory: string;
  readonly resources: ProductResources;
  readonly idempotencyHours: number;
  readonly requireHttps: boolean;
  readonly metrics: boolean;
  readonly startedEvents: boolean;
  /** origins of pages, with commas between */
  readonly corsOrigins: string;
  /** where traces are sent, as JSON; undefined: nowhere, and the function that sends them is not there */
  readonly traces: string | undefined;
  /** what is too large for environment variables: the functions are told which version they are to read */
  readonly storedSettings: readonly StoredSetting[];
  /** undefined: the code of deployments has no role */
  readonly codePermissions: readonly iam.PolicyStatement[] | undefined;
  readonly encryptionKey: kms.IKey | undefined;
  readonly network: Network | undefined;
  readonly logRetention: logs.RetentionDays;
  readonly memoryMb: Partial<Record<FunctionName, number>>;
  readonly workerTimeoutSeconds: number;
  readonly codeTimeoutSeconds: number;
  readonly nodeConcurrency: number;
  readonly maxProjectShare: number;
  readonly resultConcurrency: number;
  readonly codeConcurrency: number;
  /** false: the code queue is left to processes of the owner's own */
  readonly codeTakesMessages: boolean;
  /** processes of the owner's own run code too, or alone */
  readonly processesRunCode: boolean;
  readonly watchedRuns: number;
  /** undefined: as many watchers as the account's concurrency allows */
  readonly watchers: number | undefined;
  /** whether that many are reserved from the account's concurrency */
  readonly reservesWatchers: boolean;
}

export class Functions extends Construct {
  readonly byName: ReadonlyMap<FunctionName, ProductFunction>;
  readonly codeRole: iam.Role | undefined;

  constructor(scope: Construct, id: string, props: FunctionsProps) {
    super(scope, id);
    const values = environmentValues(props);
    const timeouts: Partial<Record<FunctionName, number>> = {
      worker: props.workerTimeoutSeconds,
      code: props.codeTimeoutSeconds,
    };
    const bundled = bundledFunctions(props.directory);
    this.byName = new Map(
      bundled
        .filter((name) => name !== 'traces' || props.traces !== undefined)
        .map((name) => {
          const shape = functionShapes[name];
          const fn = new ProductFunction(this, pascalCase(name), {
            ...props,
            name,
            values,
            shape: {
              ...shape,
              memoryMb: props.memoryMb[name] ?? shape.memoryMb,
              timeoutSeconds: timeouts[name] ?? shape.timeoutSeconds,
              // Where processes alone run code, no queue starts the function.
              consumesQueues: shape.consumesQueues === true && (name !== 'code' || props.codeTakesMessages),
            },
            reservedConcurrency: name === 'events' && props.reservesWatchers ? props.watchers : undefined,
          });
          return [name, fn];
        }),
    );
    this.codeRole = this.createCodeRole(props);
    this.connectQueues(props);
  }

  get(name: FunctionName): ProductFunction | undefined {
    return this.byName.get(name);
  }

  /** Functions that read large settings are made and changed after the resource that writes these. */
  deployAfter(writer: IDependable): void {
    const versions: readonly string[] = storedSettingNames.map((name) => environmentNames[name]);
    for (const { lambda, environment } of this.byName.values()) {
      if (Object.keys(environment).some((name) => versions.includes(name))) lambda.node.addDependency(writer);
    }
  }

  private createCodeRole({
    codePermissions: permissions,
    processesRunCode: canProcessesAssume,
  }: FunctionsProps): iam.Role | undefined {
    const code = this.get('code');
    if (code === undefined || permissions === undefined) return undefined;
    const { role } = new CodeRole(this, 'DeploymentCode', { executionRole: code.role, permissions, canProcessesAssume });
    code.setVariable('codeRoleArn', role.roleArn);
    return role;
  }

  private connectQueues({
    resources: { queues },
    nodeConcurrency,
    resultConcurrency,
    codeConcurrency,
    codeTakesMessages,
    watchedRuns,
  }: FunctionsProps): void {
    // One message at a time: a batch may mix groups, and a chain of nodes should delay nobody else's.
    const worker = this.get('worker');
    worker?.consume('NodeQueue', queues.nodeJobs, { batchSize: 1, maxConcurrency: nodeConcurrency });
    worker?.consume('DelayQueue', queues.delayed, { batchSize: 1, maxConcurrency: nodeConcurrency });
    this.get('collect')?.consume('ResultsQueue', queues.results, { batchSize: 10, maxConcurrency: resultConcurrency });
    if (codeTakesMessages) this.get('code')?.consume('CodeQueue', queues.code, { batchSize: 1, maxConcurrency: codeConcurrency });
    this.get('broadcaster')?.consume('WatchQueue', queues.watches, { batchSize: 1, maxConcurrency: watchedRuns });
    for (const queue of queues.deadLetters) {
      this.get('dead-letter')?.consume(queue.node.id, queue, { batchSize: 1, maxConcurrency: minConcurrency });
    }
  }
}

function environmentValues({
  resources,
  idempotencyHours,
  requireHttps,
  metrics,
  startedEvents,
  watchers,
  corsOrigins,
  traces,
  storedSettings,
  nodeConcurrency,
  maxProjectShare,
}: FunctionsProps): Readonly<Record<EnvironmentName, string>> {
  const { storage, queues, timers, eventBus, sockets } = resources;
  const versionOf = (name: StoredSettingName): string => storedSettings.find((setting) => setting.name === name)?.version ?? '';
  return {
    runsTable: storage.runsTable.tableName,
    controlTable: storage.controlTable.tableName,
    bucket: storage.bucket.bucketName,
    nodeQueueUrl: queues.nodeJobs.queueUrl,
    nodeConcurrency: String(nodeConcurrency),
    maxProjectShare: String(maxProjectShare),
    delayQueueUrl: queues.delayed.queueUrl,
    resultsQueueUrl: queues.results.queueUrl,
    codeQueueUrl: queues.code.queueUrl,
    watchQueueUrl: queues.watches.queueUrl,
    socketsUrl: sockets?.url ?? '',
    delayQueueArn: queues.delayed.queueArn,
    scheduleGroup: timers.group.scheduleGroupName,
    scheduleRoleArn: timers.role.roleArn,
    eventBusName: eventBus.eventBusName,
    retentionDays: String(storage.retentionDays),
    idempotencyHours: String(idempotencyHours),
    requireHttps: String(requireHttps),
    watchers: watchers === undefined ? '' : String(watchers),
    metrics: String(metrics),
    startedEvents: String(startedEvents),
    corsOrigins,
    traces: traces ?? '',
    webhooks: versionOf('webhooks'),
    secrets: versionOf('secrets'),
    models: versionOf('models'),
    moderation: versionOf('moderation'),
    databases: versionOf('databases'),
    codeVariables: versionOf('codeVariables'),
    // Told once there is one.
    codeRoleArn: '',
  };
}

/** `dead-letter` → `DeadLetter`: ids of constructs are written so. */
const pascalCase = (name: string) =>
  name
    .split('-')
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('');
