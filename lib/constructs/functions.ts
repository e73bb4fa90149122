/** The bundled functions with their event sources and the dead-letter queues. The HTTP API is a separate construct. */
import type * as iam from 'aws-cdk-lib/aws-iam';
import type * as kms from 'aws-cdk-lib/aws-kms';
import * as logs from 'aws-cdk-lib/aws-logs';
import { Construct, type IDependable } from 'constructs';
import { defaultConcurrency, minConcurrency } from '../contract/concurrency.ts';
import { type EnvironmentName, type FunctionName, environmentNames } from '../contract/environment.ts';
import { type StoredSettingName, storedSettingNames } from '../contract/stored-settings.ts';
import { CodeRole } from './code-access.ts';
import { defaultWorkerTimeoutSeconds, functionShapes } from './function-shapes.ts';
import type { ProductResources } from './resources.ts';
import { RunEventsChoice } from './run-events.ts';
import { type Network, ProductFunction } from './product-function.ts';
import type { ParsedSettings } from './settings.ts';
import { bundledFunctions } from './bundled-functions.ts';
import { join } from 'node:path';

type CodeRunsIn = 'lambda' | 'worker' | 'both';

export const stepwellDefaults = {
  maxProjectShare: 100,
  idempotencyHours: 24,
  logRetention: logs.RetentionDays.ONE_MONTH,
} as const;

/** How the functions run. */
export interface ExecutionProps {
  /** Encrypts queues and logs. Default: the storage's key. */
  readonly encryptionKey?: kms.IKey;
  /** How long the logs of the functions are kept. Default: a month. */
  readonly logRetention?: logs.RetentionDays;
  /** Hours that an idempotency key is valid, 1 to 168. Default: 24. */
  readonly idempotencyHours?: number;
  /** Whether to refuse requests that did not come over HTTPS, as the gateway reports. Default: true. */
  readonly requireHttps?: boolean;
  /**
   * Emits CloudWatch metrics of runs and nodes. CloudWatch bills each metric.
   * @default false
   */
  readonly metrics?: boolean;
  /**
   * Which status changes of runs are published on the event bus: none, runs that failed, all ends, or starts too. EventBridge bills each
   * event.
   * @default 'failed'; 'ended' if the setting `traces` or a rule of `onRunEnded` needs other ends
   */
  readonly runEvents?: 'none' | 'failed' | 'ended' | 'all';
  /** VPC of the functions. Default: none. */
  readonly network?: Network;
  /** Memory of single functions, 128 to 10240 MB. Default: see functionShapes. */
  readonly memoryMb?: Partial<Record<FunctionName, number>>;
  /** Timeout of the worker for one message, 30 to 900 s. SQS redelivers the message one minute after a timeout. Default: 900. */
  readonly workerTimeoutSeconds?: number;
  /** Timeout of deployed code for one message, 30 to 900 s. Default: 900. */
  readonly codeTimeoutSeconds?: number;
  /** Maximum concurrency of the code function, 2 to 1000. Default: 100. */
  readonly codeConcurrency?: number;
  /**
   * What runs deployed code: the function, your own processes (`stepwell worker start`, see `grantWorker`), or both. With `worker`, the
   * function does not consume the queue, so code waits until a process runs. Default: `lambda`.
   */
  readonly codeRunsIn?: CodeRunsIn;
  /**
   * Permissions of deployed code in this account. The code gets a separate role with these statements only. An empty list also creates
   * the role, as `codeRole`, for grants such as `bucket.grantRead(stepwell.codeRole)`. Default: no role, and code has no credentials.
   */
  readonly codePermissions?: readonly iam.PolicyStatement[];
  /** Maximum concurrency of the worker for each of its two queues, 2 to 1000. Default: 100. */
  readonly nodeConcurrency?: number;
  /**
   * Maximum share of the node queue's workers for one project and environment, in percent, 1 to 100, at least two workers. Below 100, a
   * node can wait behind a slow node of its project while workers are idle. Default: 100, which limits only slow scripts, to half.
   */
  readonly maxProjectShare?: number;
  /** Maximum concurrency of the collector, 2 to 1000. Default: 10. */
  readonly resultConcurrency?: number;
  /** Maximum open event streams; each holds one invocation. Default: 50. */
  readonly watchers?: number | 'uncapped';
  /** Whether to reserve the concurrency of `watchers` in the account, in both directions. Default: false. */
  readonly reservesWatchers?: boolean;
  /** Maximum runs watched over sockets, 2 to 1000; each holds one invocation, for any number of watchers. Default: 50. */
  readonly watchedRuns?: number;
}

/** The same with the defaults. */
export const executionSettings = (props: ExecutionProps) => ({
  idempotencyHours: props.idempotencyHours ?? stepwellDefaults.idempotencyHours,
  requireHttps: props.requireHttps ?? true,
  metrics: props.metrics ?? false,
  runEvents: new RunEventsChoice(props.runEvents),
  network: props.network,
  memoryMb: props.memoryMb ?? {},
  workerTimeoutSeconds: props.workerTimeoutSeconds ?? defaultWorkerTimeoutSeconds,
  codeTimeoutSeconds: props.codeTimeoutSeconds ?? defaultWorkerTimeoutSeconds,
  codeConcurrency: props.codeConcurrency ?? defaultConcurrency.codeConcurrency,
  /** false: only worker processes consume the code queue */
  codeTakesMessages: props.codeRunsIn !== 'worker',
  /** worker processes run code, together with the function or alone */
  processesRunCode: (props.codeRunsIn ?? 'lambda') !== 'lambda',
  /** undefined: deployed code has no role */
  codePermissions: props.codePermissions,
  nodeConcurrency: props.nodeConcurrency ?? defaultConcurrency.nodeConcurrency,
  maxProjectShare: props.maxProjectShare ?? stepwellDefaults.maxProjectShare,
  resultConcurrency: props.resultConcurrency ?? defaultConcurrency.resultConcurrency,
  /** undefined: limited only by the account's concurrency */
  watchers: props.watchers === 'uncapped' ? undefined : (props.watchers ?? defaultConcurrency.watchers),
  reservesWatchers: props.reservesWatchers ?? false,
  watchedRuns: props.watchedRuns ?? defaultConcurrency.watchedRuns,
});

export interface FunctionsProps extends ReturnType<typeof executionSettings> {
  readonly directory: string;
  readonly resources: ProductResources;
  readonly settings: Pick<ParsedSettings, 'corsOrigins' | 'privateDestinations' | 'traces' | 'stored'>;
  readonly encryptionKey: kms.IKey | undefined;
  readonly logRetention: logs.RetentionDays;
}

export class Functions extends Construct {
  readonly #functions: Map<FunctionName, ProductFunction>;
  /** undefined: it is not bundled */
  readonly #createStarts: () => ProductFunction | undefined;
  /** writes the large settings */
  #writer: IDependable | undefined;
  readonly codeRole: iam.Role | undefined;

  constructor(scope: Construct, id: string, props: FunctionsProps) {
    super(scope, id);
    const values = environmentValues(props);
    const timeouts: Partial<Record<FunctionName, number>> = {
      worker: props.workerTimeoutSeconds,
      code: props.codeTimeoutSeconds,
    };
    const bundled = bundledFunctions(props.directory);
    const create = (name: FunctionName): ProductFunction => {
      const shape = functionShapes[name];
      return new ProductFunction(this, pascalCase(name), {
        ...props,
        name,
        directory: join(props.directory, name),
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
    };
    this.#functions = new Map(
      bundled
        .filter((name) => name !== createdWithTriggers && (name !== 'traces' || props.settings.traces !== undefined))
        .map((name) => [name, create(name)]),
    );
    this.#createStarts = () => (bundled.includes(createdWithTriggers) ? create(createdWithTriggers) : undefined);
    this.codeRole = this.createCodeRole(props);
    this.connectWorld();
    this.connectWebhooks();
    this.connectWaitingStarts(props);
    this.connectQueues(props);
  }

  /** Those of the installation so far: the first trigger adds one. */
  get byName(): ReadonlyMap<FunctionName, ProductFunction> {
    return this.#functions;
  }

  get(name: FunctionName): ProductFunction | undefined {
    return this.#functions.get(name);
  }

  /** The function of the triggers. The first call creates it. undefined: it is not bundled */
  get starts(): ProductFunction | undefined {
    const existing = this.#functions.get(createdWithTriggers);
    if (existing !== undefined) return existing;
    const created = this.#createStarts();
    if (created === undefined) return undefined;
    this.#functions.set(createdWithTriggers, created);
    if (this.#writer !== undefined) dependOn(this.#writer, created);
    return created;
  }

  /** Functions that read large settings are created and updated after the custom resource that stores the settings. */
  deployAfter(writer: IDependable): void {
    this.#writer = writer;
    for (const each of this.#functions.values()) dependOn(writer, each);
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

  /** Deployed code reaches the runs that it starts through the function that serves the World. */
  private connectWorld(): void {
    const [code, world] = [this.get('code'), this.get('world')];
    if (code === undefined || world === undefined) return;
    code.allowInvoking(world);
    code.setVariable('worldFunction', world.lambda.functionName);
  }

  /** Requests for webhooks of apps reach the code of their runs. */
  private connectWebhooks(): void {
    const [webhooks, code] = [this.get('webhooks'), this.get('code')];
    if (webhooks === undefined || code === undefined) return;
    webhooks.allowInvoking(code);
    webhooks.setVariable('codeFunction', code.lambda.functionName);
  }

  /** A request that waits for its run calls the function of its first job. The API function has no right to secrets, models or databases. */
  private connectWaitingStarts({ codeTakesMessages }: FunctionsProps): void {
    const [api, worker, code] = [this.get('api'), this.get('worker'), this.get('code')];
    if (api === undefined || worker === undefined) return;
    api.allowInvoking(worker);
    api.setVariable('workerFunction', worker.lambda.functionName);
    // Where only worker processes run code, the job goes through the queue.
    if (code === undefined || !codeTakesMessages) return;
    api.allowInvoking(code);
    api.setVariable('codeFunction', code.lambda.functionName);
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

/** An installation without triggers has neither the function nor its alarms. */
const createdWithTriggers: FunctionName = 'starts';

function dependOn(writer: IDependable, { lambda, environment }: ProductFunction): void {
  const versions: readonly string[] = storedSettingNames.map((name) => environmentNames[name]);
  if (Object.keys(environment).some((name) => versions.includes(name))) lambda.node.addDependency(writer);
}

function environmentValues({
  resources,
  idempotencyHours,
  requireHttps,
  metrics,
  runEvents,
  watchers,
  settings: { corsOrigins, privateDestinations, traces, stored },
  nodeConcurrency,
  maxProjectShare,
}: FunctionsProps): Readonly<Record<EnvironmentName, string>> {
  const { storage, queues, timers, eventBus, sockets, devKitSecretArns } = resources;
  const versionOf = (name: StoredSettingName): string => stored.find((setting) => setting.name === name)?.version ?? '';
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
    runEvents: runEvents.value,
    corsOrigins,
    privateDestinations,
    traces: traces === undefined ? '' : JSON.stringify(traces),
    webhooks: versionOf('webhooks'),
    secrets: versionOf('secrets'),
    models: versionOf('models'),
    moderation: versionOf('moderation'),
    databases: versionOf('databases'),
    codeVariables: versionOf('codeVariables'),
    console: versionOf('console'),
    triggers: versionOf('triggers'),
    deployed: versionOf('deployed'),
    devKitSecretArn: devKitSecretArns[0] ?? '',
    encryptsRuns: String(devKitSecretArns.length > 0),
    // Set where the functions of the World and of deployed code, and the role of that code, exist.
    worldFunction: '',
    codeFunction: '',
    workerFunction: '',
    apiAddress: '',
    codeRoleArn: '',
  };
}

/** `dead-letter` → `DeadLetter`: the construct id of a function. */
const pascalCase = (name: string) =>
  name
    .split('-')
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('');
