/** The bundled functions with their event sources and the dead-letter queues. The HTTP API is a separate construct. */
import type * as iam from 'aws-cdk-lib/aws-iam';
import type * as kms from 'aws-cdk-lib/aws-kms';
import type * as logs from 'aws-cdk-lib/aws-logs';
import { Construct, type IDependable } from 'constructs';
import { minConcurrency } from '../contract/concurrency.ts';
import { type EnvironmentName, type FunctionName, environmentNames, functionNames } from '../contract/environment.ts';
import { type StoredSettingName, storedSettingNames } from '../contract/stored-settings.ts';
import { CodeRole } from './code-access.ts';
import { functionShapes } from './function-shapes.ts';
import type { ProductResources } from './permissions.ts';
import { type Network, ProductFunction } from './product-function.ts';
import type { StoredSetting } from './stored-settings.ts';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { join } from 'node:path';

export interface FunctionsProps {
  readonly directory: string;
  readonly resources: ProductResources;
  readonly idempotencyHours: number;
  readonly requireHttps: boolean;
  readonly metrics: boolean;
  readonly startedEvents: boolean;
  /** origins of web pages, separated by commas */
  readonly corsOrigins: string;
  /** the setting `traces` as JSON; undefined: the traces function is not deployed */
  readonly traces: string | undefined;
  /** settings that are too large for environment variables; functions receive their versions */
  readonly storedSettings: readonly StoredSetting[];
  /** undefined: deployed code has no role */
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
  /** false: only worker processes consume the code queue */
  readonly codeTakesMessages: boolean;
  /** worker processes run code, together with the function or alone */
  readonly processesRunCode: boolean;
  readonly watchedRuns: number;
  /** undefined: limited only by the account's concurrency */
  readonly watchers: number | undefined;
  /** whether to reserve concurrency for the watchers */
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
              // If only worker processes run code, no queue invokes the function.
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

  /** Functions that read large settings are created and updated after the custom resource that stores the settings. */
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
    // One message per batch: a batch can mix message groups, and one run's node must not delay another run's.
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
    // Set when the WebSocket API exists.
    codeRoleArn: '',
  };
}

/** `dead-letter` → `DeadLetter`: the construct id of a function. */
const pascalCase = (name: string) =>
  name
    .split('-')
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('');

/** `npm run build:functions` writes the second, `npm run build` the first. */
const candidates = ['../functions', '../../dist/functions'];

export function functionsDirectory(): string {
  const found = candidates
    .map((candidate) => fileURLToPath(new URL(candidate, import.meta.url)))
    .find((candidate) => existsSync(candidate));
  if (found === undefined) throw new Error('No function bundles were found. Run `npm run build:functions`.');
  return found;
}

/** The functions that a directory of bundles contains: those with `<directory>/<name>/index.mjs`. */
export function bundledFunctions(directory: string): readonly FunctionName[] {
  return functionNames.filter((name) => existsSync(join(directory, name, 'index.mjs')));
}
