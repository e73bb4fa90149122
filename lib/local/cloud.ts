/** The embedded cloud runs the resources of the template on this machine until it is stopped. */
import { defined } from '../base/defined.ts';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { dynamodb } from './aws/dynamodb.ts';
import { type BusEvent, deliverEvent, eventBridge, readRules } from './aws/eventbridge.ts';
import { executeApi } from './aws/execute-api.ts';
import { openGateway } from './aws/gateway.ts';
import { lambda } from './aws/lambda.ts';
import { createPrincipals } from './aws/principals.ts';
import { s3 } from './aws/s3.ts';
import { secretsManager } from './aws/secrets.ts';
import { sqs } from './aws/sqs.ts';
import { sts } from './aws/sts.ts';
import { deployCustomResources } from './deploy/custom-resources.ts';
import { deployQueuesAndBuckets, deployTables } from './deploy/tables.ts';
import { startEmulators, type Emulators } from './emulators/emulators.ts';
import { createDynamodbCaller } from './emulators/forward.ts';
import { corsOriginsOf } from './http/cors-origins.ts';
import { readGatewayResponses } from './http/gateway-responses.ts';
import { openRestApi } from './http/rest-api.ts';
import { readRoutes } from './http/routes.ts';
import { createFunctions, openLogs } from './lambda/functions.ts';
import type { LambdaFunction } from './lambda/function.ts';
import { lastPart } from './aws-environment.ts';
import { readRoles, readTrust } from './policy/roles.ts';
import { startMappings } from './pollers/mapping.ts';
import { createQueueClient } from './pollers/queue-client.ts';
import { createRecorder, type Recorder } from './recorder.ts';
import { createRunner } from './scheduler/runner.ts';
import { openScheduleStore } from './scheduler/schedule-store.ts';
import { deploySchedules, scheduler } from './scheduler/service.ts';
import { deliverTo } from './scheduler/targets.ts';
import { openSocketServer } from './sockets/socket-server.ts';
import { readSocketRoutes } from './sockets/socket-routes.ts';
import { openSecretStore, type SecretStore } from './secret-store.ts';
import type { Assembly } from './template/assembly.ts';
import { readTemplate, type Template } from './template/template.ts';
import { workerVariables } from './worker-variables.ts';

export interface CloudSettings {
  readonly directory: string;
  /** the first port to try for the API; 0: any free one */
  readonly port: number;
  readonly threads: number;
  /** the account's quota of concurrent executions. Default: 1,000 */
  readonly accountConcurrency?: number;
  /** How long messages of a throttled invocation stay invisible. Default: the queue's visibility timeout, as in AWS. */
  readonly throttledVisibilityMs?: number;
  /** origins of other pages that may use the API and open sockets */
  readonly origins?: readonly string[];
  /** settles while the emulators are starting */
  readonly assembly: Promise<Assembly>;
  /** writes a line to the terminal */
  readonly warn: (line: string) => void;
  /** called when an emulator exits: the cloud cannot continue without it */
  readonly onEmulatorExit: (reason: string) => void;
}

export interface Cloud {
  /** the API's URL; undefined where the template has no API */
  readonly url: string | undefined;
  /** the URL of the WebSocket API; undefined where the template has none */
  readonly socketUrl: string | undefined;
  readonly template: Template;
  readonly emulators: Emulators;
  readonly functions: ReadonlyMap<string, LambdaFunction>;
  readonly recorder: Recorder;
  readonly secrets: SecretStore;
  /** the endpoint and key by which the owner of the machine reads the tables */
  readonly tables: { readonly url: string; readonly accessKeyId: string; readonly secretAccessKey: string };
  readonly busEvents: () => readonly BusEvent[];
  /** environment variables of an external worker; undefined where the template has no outputs for one */
  readonly worker: Readonly<Record<string, string>> | undefined;
  /** Takes no more work, waits for running work, and stops everything that was started. */
  stop(): Promise<void>;
}

/** How long running invocations may take to end, in milliseconds. Then their threads are ended, and SQS redelivers their messages. */
const graceMs = 10_000;

export async function startCloud(settings: CloudSettings): Promise<Cloud> {
  const { directory, warn } = settings;
  /** in the order of starting; they run from the last to the first */
  const cleanups: (() => Promise<void> | void)[] = [];
  const stop = async (): Promise<void> => {
    for (const runCleanup of cleanups.splice(0).toReversed()) await runCleanup();
  };
  try {
    return await start(settings, cleanups, stop);
  } catch (error) {
    await stop().catch((stopError: unknown) => warn(String(stopError)));
    throw error;
  }

  async function start(
    { port, threads, accountConcurrency, origins = [], onEmulatorExit }: CloudSettings,
    ends: typeof cleanups,
    runCleanup: typeof stop,
  ): Promise<Cloud> {
    const emulatorsStarting = startEmulators(directory, onEmulatorExit);
    // If a later step fails, the emulators that are still starting must be stopped too.
    ends.push(() =>
      emulatorsStarting.then(
        (emulators) => emulators.stop(),
        () => undefined,
      ),
    );
    const gateway = await openGateway();
    ends.push(() => gateway.close());
    const socketServer = await openSocketServer(gateway.listener, port === 0 ? 0 : port + 1);
    ends.push(() => socketServer.close());
    const logs = openLogs(join(directory, 'logs'));
    ends.push(() => logs.close());

    // The store opens before the functions and closes after them: functions that are draining may set timers.
    const store = openScheduleStore(join(directory, 'state', 'schedules.sqlite'));
    ends.push(() => store.close());

    const assembly = await settings.assembly;
    const template = readTemplate(assembly, gateway.url, socketServer.url);
    const socketRoutes = readSocketRoutes(template);
    const routes = readRoutes(template);
    const configuredOrigins = [...origins, ...corsOriginsOf(template)];
    const recorder = createRecorder();
    const principals = createPrincipals(readRoles(template));
    // Temporary folders that a killed cloud left behind.
    const ephemeral = join(directory, 'ephemeral');
    await rm(ephemeral, { recursive: true, force: true });
    const functions = createFunctions(
      defined({
        template,
        assembly,
        principals,
        recorder,
        logs,
        endpoint: gateway.url,
        cache: join(directory, 'cache'),
        ephemeral,
        threads,
        streaming: routes === undefined ? undefined : routes.streamingFunctions,
        accountConcurrency,
        warn,
      }),
    );
    ends.push(async () => void (await Promise.all([...functions.values()].map((one) => one.stop(graceMs)))));
    const find = (nameOrArn: string): LambdaFunction | undefined => functions.get(lastPart(nameOrArn));
    // Loading a module takes longest, so the functions of the API load while the emulators start.
    for (const arn of routes?.bufferedFunctions ?? []) find(arn)?.warm();

    const emulators = await emulatorsStarting;
    await deployTables(template, createDynamodbCaller(emulators.dynamodb.forward));
    deployQueuesAndBuckets(template, emulators.fauxqs);
    emulators.fauxqs.releaseInFlight();

    const groups = new Set(['default', ...template.of('AWS::Scheduler::ScheduleGroup').map(({ name }) => name)]);
    const queueUrlOf = (arn: string): string | undefined =>
      template.of('AWS::SQS::Queue').find((queue) => queue.arn === arn)?.ref;
    const targets = {
      principals,
      find,
      queueUrlOf,
      queues: createQueueClient(emulators.fauxqs.queues, recorder, 'schedules'),
      warn,
    };
    const runner = createRunner({ store, warn, deliver: (delivery) => deliverTo(targets, delivery) });
    ends.push(() => runner.stop());

    const secrets = openSecretStore(directory);
    const rules = readRules(template, queueUrlOf);
    const ruleQueues = createQueueClient(emulators.fauxqs.queues, recorder, 'rules');
    const eventBuses = eventBridge(
      new Set(['default', ...template.of('AWS::Events::EventBus').map(({ name }) => name)]),
      (event) => {
        deliverEvent(rules, ruleQueues, event).catch((error: unknown) =>
          warn(`an event could not be delivered to the targets of its rules: ${String(error)}`),
        );
      },
    );
    gateway.mount({
      principals,
      recorder,
      warn,
      services: [
        dynamodb(emulators.dynamodb.forward),
        sqs(emulators.fauxqs.queues, gateway.url),
        s3(emulators.fauxqs.bucket),
        scheduler(store, groups, () => runner.rearm()),
        eventBuses.service,
        secretsManager(secrets, new Set(template.of('AWS::SecretsManager::Secret').map(({ ref }) => ref))),
        lambda(find, warn),
        sts(principals, readTrust(template)),
        ...(socketRoutes === undefined ? [] : [executeApi(socketServer.connections, socketRoutes)]),
      ],
    });

    await deployCustomResources({ template, directory, find });
    const { throttledVisibilityMs } = settings;
    const pollers = startMappings({
      template,
      principals,
      find,
      fauxqs: emulators.fauxqs,
      recorder,
      warn,
      throttledVisibilityMs,
    });
    // After the grace period, the next cleanup ends the threads of the remaining batches.
    ends.push(
      async () =>
        void (await Promise.race([
          Promise.all(pollers.map((poller) => poller.stop())),
          wait(graceMs, undefined, { ref: false }),
        ])),
    );
    deploySchedules(template, store, Date.now());
    runner.rearm();

    const socketUrl = socketRoutes === undefined ? undefined : `${socketServer.url}/${socketRoutes.stage}`;
    const api =
      routes === undefined
        ? undefined
        : await openRestApi(
            {
              routes,
              responses: readGatewayResponses(template),
              functionOf: find,
              recorder,
              guard: { origins: () => ({ ports: [], configuredOrigins }) },
              warn,
            },
            port,
          );
    ends.push(() => api?.close(1_000));
    // A page's origin has the API's port; the socket server serves no pages.
    const pages = { ports: api === undefined ? [] : [api.port], configuredOrigins };
    if (socketRoutes !== undefined) socketServer.mount({ routes: socketRoutes, find, origins: pages, warn });
    const { accessKeyId, secretAccessKey } = principals.createOwnerPrincipal();
    const worker = workerVariables(template, principals, gateway.url);
    return {
      url: api?.url,
      socketUrl,
      template,
      emulators,
      functions,
      recorder,
      secrets,
      tables: { url: gateway.url, accessKeyId, secretAccessKey },
      busEvents: eventBuses.recent,
      worker,
      stop: runCleanup,
    };
  }
}
