/** The construct of a whole installation, for your own stack: `new Stepwell(this, 'Stepwell')`. */
import * as events from 'aws-cdk-lib/aws-events';
import type * as iam from 'aws-cdk-lib/aws-iam';
import type * as kms from 'aws-cdk-lib/aws-kms';
import * as logs from 'aws-cdk-lib/aws-logs';
import type * as sns from 'aws-cdk-lib/aws-sns';
import { Construct } from 'constructs';
import type * as z from 'zod';
import { codeVariables } from '../api/schemas/code-variables.ts';
import { corsOrigins } from '../api/schemas/cors-origins.ts';
import { clusterArnsIn, databaseSecretArnsIn, databaseSetting } from '../api/schemas/database-setting.ts';
import { type secretSetting, secretArnsIn, parseSecretSetting } from '../api/schemas/secret-setting.ts';
import { firstKeySetting, seedKeys } from '../api/schemas/seed-keys.ts';
import { defaultConcurrency } from '../contract/concurrency.ts';
import type { FunctionName } from '../contract/environment.ts';
import { traceSetting } from '../api/schemas/trace-setting.ts';
import { modelArnsNamed, modelSetting, moderationSetting, secretsNamed } from '../models/setting.ts';
import { webhookProviders } from '../webhooks/provider.ts';
import { Alarms } from './alarms.ts';
import { bundledFunctions } from './bundled-functions.ts';
import { grantCodeWorker } from './code-worker.ts';
import { Dashboards } from './dashboards.ts';
import { FirstKey } from './first-key.ts';
import { defaultWorkerTimeoutSeconds } from './function-shapes.ts';
import { functionsDirectory } from './functions-directory.ts';
import { Functions } from './functions.ts';
import { type Domain, HttpApi } from './http-api.ts';
import type { ProductResources } from './permissions.ts';
import type { Network } from './product-function.ts';
import { type NodeQueueKind, Queues } from './queues.ts';
import { checkRanges } from './ranges.ts';
import { rangesOf } from './setting-ranges.ts';
import { SocketApi } from './socket-api.ts';
import { Storage, type StorageProps } from './storage.ts';
import { storedSettingsOf } from './stored-settings.ts';
import { SweepSchedule } from './sweep-schedule.ts';
import { Timers } from './timers.ts';
import { Traces } from './traces.ts';
import { crossStackValue } from './wildcards.ts';

export const stepwellDefaults = { maxProjectShare: 100, idempotencyHours: 24 } as const;

export interface StepwellProps {
  /**
   * Directory with `<name>/index.mjs` for each function, as `npm run build:functions` writes it. Every bundle in it is deployed.
   * Default: the bundles of the package; in a checkout, dist/functions.
   */
  readonly functionsDirectory?: string;
  /** The tables and the bucket, or their properties to create them in this stack. In a separate stack, they outlive this one. */
  readonly storage?: Storage | StorageProps;
  /** Hours that an idempotency key is valid, 1 to 168. Default: 24. */
  readonly idempotencyHours?: number;
  /** Whether to refuse requests that did not come over HTTPS, as the gateway reports. Default: true. */
  readonly requireHttps?: boolean;
  /**
   * Emits CloudWatch metrics of runs and nodes. CloudWatch bills each metric.
   * @default false
   */
  readonly metrics?: boolean;
  /** Whether to create a CloudWatch dashboard. The first three of an account are free. Default: true. */
  readonly dashboard?: boolean;
  /**
   * Sends an event when a run starts, besides the one when it ends. EventBridge bills each event.
   * @default false
   */
  readonly startedEvents?: boolean;
  /** Complete origins of web pages that may call the API and open sockets, such as `https://app.example.com`. Default: none. */
  readonly corsOrigins?: z.input<typeof corsOrigins>;
  /** The OpenTelemetry (OTLP) collector for traces of ended runs. Default: none. */
  readonly traces?: z.input<typeof traceSetting>;
  /** Encrypts queues and logs. Default: the storage's key. */
  readonly encryptionKey?: kms.IKey;
  /** Project, environment and rate limit of the first admin key. Default: `default`, `production` and the default limit. */
  readonly firstKey?: z.input<typeof firstKeySetting>;
  /** Keys that a deployment registers, and revokes when you remove them from the list. Default: none. */
  readonly seedKeys?: z.input<typeof seedKeys>;
  /** Webhook providers and their targets, by the name in the path. Default: none. */
  readonly webhooks?: z.input<typeof webhookProviders>;
  /** Secrets that the nodes of a project may use, by name: `{ "<project>": { "<environment>" or "*": { "<name>": "<ARN>" } } }`. Default: none. */
  readonly secrets?: z.input<typeof secretSetting>;
  /** The models that lenses can name, with their providers. Default: none. */
  readonly models?: z.input<typeof modelSetting>;
  /** The moderation service for inputs and outputs of models. Default: none, and a node that requires moderation fails. */
  readonly moderation?: z.input<typeof moderationSetting>;
  /** Aurora databases that the queries of a project may use, by name: `{ "<project>": { "<environment>" or "*": { "<name>": { clusterArn, secretArn, database } } } }`. Default: none. */
  readonly databases?: z.input<typeof databaseSetting>;
  readonly domain?: Domain;
  /** A regional web ACL for the API's stage. Default: none. */
  readonly webAclArn?: string;
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
  /** Environment variables for all deployed code; no secrets. Names that AWS or Stepwell use are refused. Default: none. */
  readonly codeVariables?: z.input<typeof codeVariables>;
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
  /** Type of the node queue. `standard` starts nodes sooner; correctness does not depend on the order. Default: `fifo`. */
  readonly nodeQueue?: NodeQueueKind;
  readonly logRetention?: logs.RetentionDays;
  /** Topic that is notified of every alarm. Default: none; the alarms are visible in CloudWatch only. */
  readonly alarmTopic?: sns.ITopic;
  /** Rate limit of the API in requests a second, 1 to 10000, and its burst limit. Default: 1000 and 2000. */
  readonly requestsPerSecond?: number;
  readonly requestBurst?: number;
  /** Whether to set the account's role for API Gateway logs. Default: true; use false if the account has one. */
  readonly setsAccountLogRole?: boolean;
}

type CodeRunsIn = 'lambda' | 'worker' | 'both';

interface SharedProps {
  readonly encryptionKey: kms.IKey | undefined;
  readonly logRetention: logs.RetentionDays;
}

export class Stepwell extends Construct {
  readonly storage: Storage;
  readonly queues: Queues;
  readonly timers: Timers;
  /** Status changes of runs and deployments, for your own rules. */
  readonly eventBus: events.EventBus;
  readonly functions: Functions;
  /** ARN of the first admin key's secret, as this construct's stack refers to it */
  readonly firstKeySecretArn: string;
  /** role of deployed code; undefined without `codePermissions` */
  readonly codeRole: iam.Role | undefined;
  /** undefined if its function is not bundled */
  readonly httpApi: HttpApi | undefined;
  /** undefined if its function is not bundled */
  readonly socketApi: SocketApi | undefined;
  /** undefined if the setting turns them off */
  readonly dashboards: Dashboards | undefined;
  private readonly resources: ProductResources;
  private readonly encryptionKey: kms.IKey | undefined;

  constructor(scope: Construct, id: string, props: StepwellProps = {}) {
    super(scope, id);
    checkRanges(this, rangesOf(props));
    this.storage = props.storage instanceof Storage ? props.storage : new Storage(this, 'Storage', props.storage);
    const encryptionKey = (this.encryptionKey = props.encryptionKey ?? this.storage.encryptionKey);
    const workerTimeoutSeconds = props.workerTimeoutSeconds ?? defaultWorkerTimeoutSeconds;
    const codeTimeoutSeconds = props.codeTimeoutSeconds ?? defaultWorkerTimeoutSeconds;
    const logRetention = props.logRetention ?? logs.RetentionDays.ONE_MONTH;
    const maxProjectShare = props.maxProjectShare ?? stepwellDefaults.maxProjectShare;

    const parsedSeedKeys = seedKeys.parse(props.seedKeys ?? []);
    const webhooks = webhookProviders.parse(props.webhooks ?? {});
    const secrets = parseSecretSetting(props.secrets ?? {});
    const models = modelSetting.parse(props.models ?? {});
    const moderation = moderationSetting.parse(props.moderation ?? { provider: 'none' });
    const databases = databaseSetting.parse(props.databases ?? {});
    const variables = codeVariables.parse(props.codeVariables ?? {});
    const storedSettings = storedSettingsOf(this, { webhooks, secrets, models, moderation, databases, codeVariables: variables });
    const traces = props.traces === undefined ? undefined : traceSetting.parse(props.traces);
    const firstKeySecretArn = (this.firstKeySecretArn = crossStackValue(this, this.storage, this.storage.firstKeySecret.ref));

    this.queues = new Queues(this, 'Queues', {
      nodeQueue: props.nodeQueue ?? 'fifo',
      maxProjectShare,
      workerTimeoutSeconds,
      codeTimeoutSeconds,
      encryptionKey,
    });
    this.timers = new Timers(this, 'Timers', { delayQueue: this.queues.delayed, encryptionKey });
    this.eventBus = new events.EventBus(this, 'EventBus', { description: 'Status changes of the runs of Stepwell' });
    const directory = props.functionsDirectory ?? functionsDirectory();
    const hasSocketFunction = bundledFunctions(directory).includes('sockets');
    this.socketApi = hasSocketFunction ? new SocketApi(this, 'SocketApi') : undefined;
    this.resources = {
      storage: this.storage,
      queues: this.queues,
      timers: this.timers,
      eventBus: this.eventBus,
      sockets: this.socketApi,
      bucketArn: crossStackValue(this, this.storage, this.storage.bucket.bucketArn),
      firstKeySecretArn,
      seedSecretArns: parsedSeedKeys.flatMap(({ secretArn }) => (secretArn === undefined ? [] : [secretArn])),
      webhookSecretArns: Object.values(webhooks).map(({ secretArn }) => secretArn),
      nodeSecretArns: secretArnsIn(secrets),
      modelSecretArns: secretsNamed(models, moderation),
      modelArns: modelArnsNamed(models),
      guardrailArn: moderation.provider === 'bedrock-guardrail' ? moderation.guardrailArn : undefined,
      clusterArns: clusterArnsIn(databases),
      databaseSecretArns: databaseSecretArnsIn(databases),
    };
    this.functions = new Functions(this, 'Functions', {
      directory,
      resources: this.resources,
      idempotencyHours: props.idempotencyHours ?? stepwellDefaults.idempotencyHours,
      requireHttps: props.requireHttps ?? true,
      metrics: props.metrics ?? false,
      startedEvents: props.startedEvents ?? false,
      corsOrigins: corsOrigins.parse(props.corsOrigins ?? []).join(),
      traces: traces === undefined ? undefined : JSON.stringify(traces),
      storedSettings,
      codePermissions: props.codePermissions,
      encryptionKey,
      network: props.network,
      logRetention,
      memoryMb: props.memoryMb ?? {},
      workerTimeoutSeconds,
      codeTimeoutSeconds,
      codeConcurrency: props.codeConcurrency ?? defaultConcurrency.codeConcurrency,
      codeTakesMessages: props.codeRunsIn !== 'worker',
      processesRunCode: (props.codeRunsIn ?? 'lambda') !== 'lambda',
      watchedRuns: props.watchedRuns ?? defaultConcurrency.watchedRuns,
      nodeConcurrency: props.nodeConcurrency ?? defaultConcurrency.nodeConcurrency,
      maxProjectShare,
      resultConcurrency: props.resultConcurrency ?? defaultConcurrency.resultConcurrency,
      watchers: props.watchers === 'uncapped' ? undefined : (props.watchers ?? defaultConcurrency.watchers),
      reservesWatchers: props.reservesWatchers ?? false,
    });

    this.codeRole = this.functions.codeRole;

    const sweep = this.functions.get('sweep');
    if (sweep !== undefined) new SweepSchedule(this, 'SweepSchedule', { sweep: sweep.lambda, group: this.timers.group });
    const provisioner = this.functions.get('first-key');
    if (provisioner !== undefined) {
      const { resource } = new FirstKey(this, 'FirstKey', {
        provisioner: provisioner.lambda,
        secretArn: firstKeySecretArn,
        firstKey: firstKeySetting.parse(props.firstKey ?? {}),
        seedKeys: parsedSeedKeys,
        storedSettings,
      });
      this.functions.deployAfter(resource);
    }
    this.httpApi = this.createHttpApi(props, { encryptionKey, logRetention });
    this.addSocketStage(props, { encryptionKey, logRetention });
    const sender = this.functions.get('traces');
    const traceQueue =
      sender === undefined || traces === undefined
        ? undefined
        : new Traces(this, 'Traces', { sender, eventBus: this.eventBus, setting: traces }).queue;
    const { queues, storage, timers } = this;
    const monitored = { traceQueue, queues, storage, timers, functions: this.functions.byName, restApi: this.httpApi?.restApi };
    new Alarms(this, 'Alarms', { monitored, topic: props.alarmTopic });
    if (props.dashboard !== false)
      this.dashboards = new Dashboards(this, 'Dashboards', { monitored, metrics: props.metrics ?? false });
  }

  /**
   * Grants a role the permissions of a worker process: those of `functions/code`, and to consume its queue. Give the process the
   * variables `workerEnvironment`.
   */
  grantWorker(grantee: iam.IGrantable): void {
    grantCodeWorker(this, grantee, this.resources, { key: this.encryptionKey, codeRole: this.codeRole });
  }

  /** Environment variables of a worker process, without secrets. Empty if `functions/code` is not bundled. */
  get workerEnvironment(): Readonly<Record<string, string>> {
    return this.functions.get('code')?.environment ?? {};
  }

  private createHttpApi(props: StepwellProps, sharedProps: SharedProps) {
    const api = this.functions.get('api');
    if (api === undefined) return undefined;
    return new HttpApi(this, 'HttpApi', {
      ...sharedProps,
      api: api.lambda,
      events: this.functions.get('events')?.lambda,
      functionFor: (name) => this.functions.get(name)?.lambda,
      requestsPerSecond: props.requestsPerSecond ?? defaultConcurrency.requestsPerSecond,
      requestBurst: props.requestBurst ?? defaultConcurrency.requestBurst,
      corsOrigins: props.corsOrigins ?? [],
      domain: props.domain,
      webAclArn: props.webAclArn,
      setsAccountLogRole: props.setsAccountLogRole ?? true,
    });
  }

  private addSocketStage(props: StepwellProps, sharedProps: SharedProps): void {
    const sockets = this.functions.get('sockets');
    if (sockets === undefined) return;
    this.socketApi?.addStage({
      ...sharedProps,
      socketFunction: sockets.lambda,
      requestsPerSecond: props.requestsPerSecond ?? defaultConcurrency.requestsPerSecond,
      requestBurst: props.requestBurst ?? defaultConcurrency.requestBurst,
      dependsOn: this.httpApi?.restApi,
    });
  }
}
