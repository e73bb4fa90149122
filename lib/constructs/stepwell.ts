/** Stepwell, to be placed in a stack of one's own: `new Stepwell(this, 'Stepwell')`. */
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

export interface StepwellProps {
  /**
   * Folder with `<name>/index.mjs` for each function, as `npm run build:functions` writes it. Those found are deployed.
   * Default: those that came with the package, in a checkout those in dist/functions.
   */
  readonly functionsDirectory?: string;
  /** The tables and the bucket, or how to make them in this stack. A stack of their own lets them outlive this one. */
  readonly storage?: Storage | StorageProps;
  /** Hours for which an idempotency key is remembered, 1 to 168. Default: 24. */
  readonly idempotencyHours?: number;
  /** Whether requests are refused that the gateway does not say came over HTTPS. Default: true. */
  readonly requireHttps?: boolean;
  /**
   * Counts what runs and nodes do as metrics of CloudWatch, which are billed by the metric.
   * @default false
   */
  readonly metrics?: boolean;
  /** Whether the stack has a dashboard of CloudWatch. The first three of an account are free. Default: true. */
  readonly dashboard?: boolean;
  /**
   * Tells the bus when a run has begun, and not only when it has ended: one more event for each run, which is billed.
   * @default false
   */
  readonly startedEvents?: boolean;
  /** Origins of web pages that may call the API and open sockets from a browser, each in full: `https://app.example.com`. Default: none. */
  readonly corsOrigins?: z.input<typeof corsOrigins>;
  /** Where the traces of ended runs are sent, by OpenTelemetry's protocol. Default: nowhere. */
  readonly traces?: z.input<typeof traceSetting>;
  /** Encrypts queues and logs. Default: the storage's key. */
  readonly encryptionKey?: kms.IKey;
  /** The project and environment of the first admin key, and its limit. Default: `default` and `production`, the usual limit. */
  readonly firstKey?: z.input<typeof firstKeySetting>;
  /** Keys that are registered when this is deployed, and revoked when they are taken off the list. Default: none. */
  readonly seedKeys?: z.input<typeof seedKeys>;
  /** Who may send webhooks, and what they start, by the name in the path. Default: nobody. */
  readonly webhooks?: z.input<typeof webhookProviders>;
  /** Which secrets the nodes of which project may use, by name: `{ "<project>": { "<environment>" or "*": { "<name>": "<ARN>" } } }`. Default: none. */
  readonly secrets?: z.input<typeof secretSetting>;
  /** The models that lenses can name, and what stands behind each. Default: none. */
  readonly models?: z.input<typeof modelSetting>;
  /** Who looks at what goes to a model and comes from it, where a node asks for that. Default: nobody, and such a node fails. */
  readonly moderation?: z.input<typeof moderationSetting>;
  /** Which databases of Aurora the queries of which project may ask, by name: `{ "<project>": { "<environment>" or "*": { "<name>": { clusterArn, secretArn, database } } } }`. Default: none. */
  readonly databases?: z.input<typeof databaseSetting>;
  readonly domain?: Domain;
  /** A regional web ACL for the API's stage. Default: none. */
  readonly webAclArn?: string;
  /** Default: the functions are in no VPC. */
  readonly network?: Network;
  /** Memory of single functions, 128 to 10240 MB. Default: what functionShapes says. */
  readonly memoryMb?: Partial<Record<FunctionName, number>>;
  /** The longest a worker may take for one message, 30 to 900 s. A killed worker's message comes back a minute later. Default: 900. */
  readonly workerTimeoutSeconds?: number;
  /** The longest a message may be with a deployment's code, 30 to 900 s. Default: 900. */
  readonly codeTimeoutSeconds?: number;
  /** Messages that are with deployments' code at once, 2 to 1000. Default: 100. */
  readonly codeConcurrency?: number;
  /**
   * Who runs the code of deployments: the function, processes of your own (`stepwell worker start`, see `grantWorker`), or
   * both. `worker` leaves the function without its queue: where no process is at work, code waits. Default: `lambda`.
   */
  readonly codeRunsIn?: CodeRunsIn;
  /** Environment variables of the authors' own, for all code that is deployed; no secrets. Names of AWS and of the product are refused. Default: none. */
  readonly codeVariables?: z.input<typeof codeVariables>;
  /**
   * What the code that is deployed may do in this account: it is given a role of its own with these, none of which is the product's.
   * An empty list makes the role all the same, as `codeRole`, for grants such as `bucket.grantRead(stepwell.codeRole)`.
   * Default: there is no such role, and code has no credentials.
   */
  readonly codePermissions?: readonly iam.PolicyStatement[];
  /** Workers at once, for each of the two queues that feed them, 2 to 1000. Default: 100. */
  readonly nodeConcurrency?: number;
  /**
   * How many of the workers of the node queue one project may take in one environment, in percent, 1 to 100; two at least. Below 100
   * a node may wait behind a slow one of its project while workers are idle. Default: 100, which bounds slow scripts alone, to half.
   */
  readonly maxProjectShare?: number;
  /** Collectors at once, 2 to 1000. Default: 10. */
  readonly resultConcurrency?: number;
  /** Streams open at once, each of which holds an invocation. Default: 50. */
  readonly watchers?: number | 'uncapped';
  /** Whether the account's concurrency is reserved for `watchers`: others cannot take it from them, nor they from others. Default: false. */
  readonly reservesWatchers?: boolean;
  /** Runs watched over sockets at once, 2 to 1000; each holds an invocation, however many watch it. Default: 50. */
  readonly watchedRuns?: number;
  /** `standard` starts nodes sooner; order is kept by neither as far as correctness goes. Default: `fifo`. */
  readonly nodeQueue?: NodeQueueKind;
  readonly logRetention?: logs.RetentionDays;
  /** Told of every alarm. Default: nobody, the alarms are only seen in CloudWatch. */
  readonly alarmTopic?: sns.ITopic;
  /** Requests a second that the API accepts, 1 to 10000, and how many may come at once. Default: 1000 and 2000. */
  readonly requestsPerSecond?: number;
  readonly requestBurst?: number;
  /** Whether to set the role with which all REST APIs of the account write logs. Default: true; false where it is set already. */
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
  /** Status changes of runs, for others to listen to. */
  readonly eventBus: events.EventBus;
  readonly functions: Functions;
  /** the secret that holds the first admin key, as this construct's stack sees it */
  readonly firstKeySecretArn: string;
  /** with which the code of deployments asks AWS; undefined without `codePermissions` */
  readonly codeRole: iam.Role | undefined;
  /** undefined until the function that answers it is bundled */
  readonly httpApi: HttpApi | undefined;
  /** undefined until the function that answers it is bundled */
  readonly socketApi: SocketApi | undefined;
  /** undefined where the setting turns them off */
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
    const maxProjectShare = props.maxProjectShare ?? 100;

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
      idempotencyHours: props.idempotencyHours ?? 24,
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
   * Lets a role run the code of deployments in a process: what `functions/code` may do, no more, and take messages off its
   * queue. Give the process `workerEnvironment`.
   */
  grantWorker(grantee: iam.IGrantable): void {
    grantCodeWorker(this, grantee, this.resources, { key: this.encryptionKey, codeRole: this.codeRole });
  }

  /** What such a process is told, as environment variables. It holds no secret. Empty where `functions/code` is not bundled. */
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
