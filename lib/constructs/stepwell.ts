/** The construct of a whole installation, for your own stack: `new Stepwell(this, 'Stepwell')`. */
import type * as iam from 'aws-cdk-lib/aws-iam';
import type { Construct } from 'constructs';
import { type EndStatus, type IStepwell, ImportedStepwell, Installation, type StepwellAttributes } from './installation.ts';
import { bundledFunctions, functionsDirectory } from './bundled-functions.ts';
import { grantCodeWorker } from './code-access.ts';
import { ApplicationKeys, FirstKey } from './first-key.ts';
import { type ExecutionProps, executionSettings, Functions, stepwellDefaults } from './functions.ts';
import { type GatewayProps, createGateways } from './gateways.ts';
import { type Observability, type ObservabilityProps, createObservability } from './observability.ts';
import { type Range, checkRanges } from './ranges.ts';
import { type ProductResources, type ResourcesProps, createResources } from './resources.ts';
import { type ParsedSettings, type SettingProps, parseSettings } from './settings.ts';
import { type StorageProps, Storage } from './storage.ts';
import { SweepSchedule } from './timers.ts';
import { type StartOnOptions, type StartSource, Triggers } from './triggers.ts';

export interface StepwellProps extends SettingProps, ExecutionProps, GatewayProps, ObservabilityProps {
  /**
   * Directory with `<name>/index.mjs` for each function, as `npm run build:functions` writes it. Every bundle in it is deployed.
   * Default: the bundles of the package; in a checkout, dist/functions.
   */
  readonly functionsDirectory?: string;
  /** The tables and the bucket, or their properties to create them in this stack. In a separate stack, they outlive this one. */
  readonly storage?: Storage | StorageProps;
  /** Type of the node queue. `standard` starts nodes sooner; correctness does not depend on the order. Default: `fifo`. */
  readonly nodeQueue?: ResourcesProps['nodeQueue'];
}

export class Stepwell extends Installation {
  /** An installation of another stack or app. */
  static fromAttributes(scope: Construct, id: string, attributes: StepwellAttributes): IStepwell {
    return new ImportedStepwell(scope, id, attributes);
  }

  readonly storage: Storage;
  readonly functions: Functions;
  /** undefined if its function is not bundled */
  readonly httpApi: ReturnType<typeof createGateways>['httpApi'];
  /** undefined if the setting turns it off, or its function is not bundled */
  readonly startApi: ReturnType<typeof createGateways>['startApi'];
  /** undefined if the setting turns them off */
  readonly dashboards: Observability['dashboards'];
  private readonly triggers: Triggers;
  private readonly resources: ProductResources;
  /** Base URL of the HTTP API; empty if its function is not bundled. */
  readonly apiUrl: string;
  /** URL of the start API; empty without it. */
  readonly startApiUrl: string;
  private readonly encryptionKey: Storage['encryptionKey'];
  private readonly applicationKeys: ApplicationKeys;
  private readonly runEvents: ReturnType<typeof executionSettings>['runEvents'];

  constructor(scope: Construct, id: string, props: StepwellProps = {}) {
    super(scope, id);
    checkRanges(this, rangesOf(props));
    this.storage = props.storage instanceof Storage ? props.storage : new Storage(this, 'Storage', props.storage);
    this.encryptionKey = props.encryptionKey ?? this.storage.encryptionKey;
    if (props.allowLocalhost === true && props.requireHttps !== false)
      throw new Error(
        'The setting allowLocalhost is for the embedded cloud: in Lambda, the loopback address is the interface of the runtime. For services of your own use privateDestinations.',
      );
    const execution = executionSettings(props);
    this.runEvents = execution.runEvents;
    const settings = parseSettings(this, props, execution, this.storage);
    const directory = props.functionsDirectory ?? functionsDirectory();
    const encryption = {
      encryptionKey: this.encryptionKey,
      logRetention: props.logRetention ?? stepwellDefaults.logRetention,
    };
    const { maxProjectShare, workerTimeoutSeconds, codeTimeoutSeconds, metrics } = execution;
    this.resources = createResources(this, {
      storage: this.storage,
      named: settings.named,
      nodeQueue: props.nodeQueue ?? 'fifo',
      maxProjectShare,
      workerTimeoutSeconds,
      codeTimeoutSeconds,
      encryptionKey: this.encryptionKey,
      hasSockets: bundledFunctions(directory).includes('sockets'),
    });
    const { resources } = this;
    this.functions = new Functions(this, 'Functions', { ...execution, ...encryption, directory, resources, settings });
    this.applicationKeys = new ApplicationKeys(this, this.storage.encryptionKey, () => this.functions.get('first-key'));
    this.startFunctions(settings);
    const { functions } = this;
    const { sockets } = resources;
    const { httpApi, startApi } = createGateways(this, { ...props, ...encryption, functions, sockets });
    this.httpApi = httpApi;
    this.startApi = startApi;
    this.startApiUrl = startApi?.url ?? '';
    this.apiUrl = props.domain === undefined ? (httpApi?.restApi.url ?? '') : `https://${props.domain.name}/`;
    this.functions.get('code')?.setVariable('apiAddress', httpApi?.address ?? '');
    const { traces } = settings;
    if (traces !== undefined) this.runEvents.mustInclude('the setting traces');
    const observability = createObservability(this, resources, { ...props, functions, httpApi, startApi, metrics, traces });
    this.dashboards = observability.dashboards;
    this.triggers = new Triggers(this, 'Triggers', {
      functions,
      resources,
      settings,
      encryptionKey: this.encryptionKey,
      alarms: observability.alarms,
      runEvents: this.runEvents,
    });
  }

  /**
   * Starts a run for each message of a queue, for each event that a rule matches, or for each object that is created in a bucket. A
   * repeated delivery of a message or of an event starts nothing. What can start nothing goes to the dead-letter queue with the reason.
   * @param id the name of the trigger: runs show it, and it is a part of their idempotency keys
   * @returns the queue of the messages, and its dead-letter queue
   * @throws if the options are invalid, or if a queue has no dead-letter queue
   */
  startOn(id: string, source: StartSource, options: StartOnOptions): ReturnType<Triggers['add']> {
    return this.triggers.add(id, source, options);
  }

  /** The queues of the triggers, by their names. */
  get triggerQueues(): Triggers['queues'] {
    return this.triggers.queues;
  }

  get queues(): ProductResources['queues'] {
    return this.resources.queues;
  }

  get timers(): ProductResources['timers'] {
    return this.resources.timers;
  }

  /** Status changes of runs and deployments, for your own rules. */
  get eventBus(): ProductResources['eventBus'] {
    return this.resources.eventBus;
  }

  get triggerKey(): IStepwell['triggerKey'] {
    return this.applicationKeys.secretOf('trigger');
  }

  get readKey(): IStepwell['readKey'] {
    return this.applicationKeys.secretOf('read');
  }

  protected publishEnds(receiver: string, statuses: readonly EndStatus[]): void {
    this.runEvents.mustInclude(receiver, statuses);
  }

  protected get runsTableName(): string {
    return this.storage.runsTable.tableName;
  }

  /** ARN of the first admin key's secret, as this construct's stack refers to it */
  get firstKeySecretArn(): string {
    return this.resources.firstKeySecretArn;
  }

  /** undefined if its function is not bundled */
  get socketApi(): ProductResources['sockets'] {
    return this.resources.sockets;
  }

  /** role of deployed code; undefined without `codePermissions` */
  get codeRole(): iam.Role | undefined {
    return this.functions.codeRole;
  }

  /**
   * Grants a role the permissions of a worker process: those of `functions/code`, and to consume its queue. Give the process the
   * variables `workerEnvironment`.
   */
  grantWorker(grantee: iam.IGrantable): void {
    const world = this.functions.get('world')?.lambda;
    grantCodeWorker(this, grantee, this.resources, { key: this.encryptionKey, codeRole: this.codeRole, world });
  }

  /** Environment variables of a worker process, without secrets. Empty if `functions/code` is not bundled. */
  get workerEnvironment(): Readonly<Record<string, string>> {
    return this.functions.get('code')?.environment ?? {};
  }

  /** The schedule of the sweep, and the custom resource that writes keys and large settings during a deployment. */
  private startFunctions({ firstKey, seedKeys, signInKeys, stored }: ParsedSettings): void {
    const { timers, firstKeySecretArn: secretArn } = this.resources;
    const sweep = this.functions.get('sweep');
    if (sweep !== undefined) new SweepSchedule(this, 'SweepSchedule', { sweep: sweep.lambda, group: timers.group });
    const provisioner = this.functions.get('first-key')?.lambda;
    if (provisioner === undefined) return;
    const { resource } = new FirstKey(this, 'FirstKey', {
      provisioner,
      secretArn,
      firstKey,
      seedKeys,
      signInKeys,
      storedSettings: stored,
      applicationKeys: () => this.applicationKeys.settings,
    });
    this.functions.deployAfter(resource);
  }
}

/** The allowed ranges of the numeric settings. */
function rangesOf(props: StepwellProps): readonly Range[] {
  return [
    { name: 'idempotencyHours', value: props.idempotencyHours, from: 1, to: 168 },
    { name: 'workerTimeoutSeconds', value: props.workerTimeoutSeconds, from: 30, to: 900 },
    { name: 'codeTimeoutSeconds', value: props.codeTimeoutSeconds, from: 30, to: 900 },
    { name: 'codeConcurrency', value: props.codeConcurrency, from: 2, to: 1_000 },
    { name: 'nodeConcurrency', value: props.nodeConcurrency, from: 2, to: 1_000 },
    { name: 'maxProjectShare', value: props.maxProjectShare, from: 1, to: 100 },
    { name: 'resultConcurrency', value: props.resultConcurrency, from: 2, to: 1_000 },
    { name: 'watchers', value: props.watchers === 'uncapped' ? undefined : props.watchers, from: 1, to: 1_000 },
    { name: 'watchedRuns', value: props.watchedRuns, from: 2, to: 1_000 },
    { name: 'requestsPerSecond', value: props.requestsPerSecond, from: 1, to: 10_000 },
    { name: 'requestBurst', value: props.requestBurst, from: 1, to: 5_000 },
    ...Object.entries(props.memoryMb ?? {}).map(([name, value]) => ({
      name: `memoryMb of ${name}`,
      value,
      from: 128,
      to: 10_240,
    })),
  ];
}
