/** The embedded cloud runs the resources of the template on this machine until it is stopped. */
import { join } from 'node:path';
import { createEventBuses, type EventBuses } from './aws/eventbridge.ts';
import { createPrincipals } from './aws/principals.ts';
import { cloudServices } from './aws/services.ts';
import { deployData, startEmulators, type Emulators } from './emulators/emulators.ts';
import { type ApiAddresses, openApis, openListeners, readApiRoutes } from './http/apis.ts';
import { startFunctionHost, type FunctionHost } from './lambda/function-host.ts';
import { readRoles } from './policy/roles.ts';
import { type CallDelay, createRecorder, type Recorder } from './recorder.ts';
import { openScheduleStore } from './scheduler/schedule-store.ts';
import { createSchedules } from './scheduler/schedules.ts';
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
  /** Delivers each event of a bus twice to each target, as EventBridge may do. For tests. */
  readonly deliversEventsTwice?: boolean;
  /** origins of other pages that may use the API and open sockets */
  readonly origins?: readonly string[];
  /** settles while the emulators are starting */
  readonly assembly: Promise<Assembly>;
  /** writes a line to the terminal */
  readonly warn: (line: string) => void;
  /** Default: no delay. */
  readonly callDelay?: CallDelay;
  /** called when an emulator exits: the cloud cannot continue without it */
  readonly onEmulatorExit: (reason: string) => void;
}

export interface Cloud extends ApiAddresses {
  readonly template: Template;
  readonly emulators: Emulators;
  readonly functions: FunctionHost['functions'];
  readonly recorder: Recorder;
  readonly secrets: SecretStore;
  /** the endpoint and key by which the owner of the machine reads the tables */
  readonly tables: { readonly url: string; readonly accessKeyId: string; readonly secretAccessKey: string };
  /** The clock was advanced: sets the timers of schedules and of queues again. */
  readonly onClockAdvance: () => void;
  readonly busEvents: EventBuses['recent'];
  /** environment variables of an external worker; undefined where the template has no outputs for one */
  readonly worker: Readonly<Record<string, string>> | undefined;
  /** Takes no more work, waits for running work, and stops everything that was started. */
  stop(): Promise<void>;
}

type Cleanup = () => Promise<void> | void;

export async function startCloud(settings: CloudSettings): Promise<Cloud> {
  /** in the order of starting; they run from the last to the first */
  const cleanups: Cleanup[] = [];
  const stop = async (): Promise<void> => {
    for (const runCleanup of cleanups.splice(0).toReversed()) await runCleanup();
  };
  try {
    return { ...(await start(settings, (cleanup) => void cleanups.push(cleanup))), stop };
  } catch (error) {
    await stop().catch((stopError: unknown) => settings.warn(String(stopError)));
    throw error;
  }
}

/** If a later step fails, the emulators that are still starting must be stopped too. */
const stopWhenStarted = (starting: Promise<Emulators>): Promise<void> =>
  starting.then(
    (emulators) => emulators.stop(),
    () => undefined,
  );

function setTimersAgain(schedules: { readonly rearm: () => void }, { fauxqs }: Emulators): void {
  schedules.rearm();
  fauxqs.onClockAdvance();
}

async function start(settings: CloudSettings, onStop: (cleanup: Cleanup) => void): Promise<Omit<Cloud, 'stop'>> {
  const { directory, port, throttledVisibilityMs, origins = [], warn, callDelay } = settings;
  const emulatorsStarting = startEmulators(directory, settings.onEmulatorExit);
  onStop(() => stopWhenStarted(emulatorsStarting));
  const { gateway, socketServer } = await openListeners(port, onStop);
  // The store opens before the functions and closes after them: functions that are draining may set timers.
  const store = openScheduleStore(join(directory, 'state', 'schedules.sqlite'));
  onStop(() => store.close());

  const assembly = await settings.assembly;
  const template = readTemplate(assembly, gateway.url, socketServer.url);
  const routes = readApiRoutes(template);
  const recorder = createRecorder();
  const principals = createPrincipals(readRoles(template));
  const late: { apiAddress?: string } = {};
  const shared = { template, principals, recorder, warn, late, callDelay, openGatewayPort: gateway.openPort };
  const host = await startFunctionHost({ ...settings, ...shared, assembly, endpoint: gateway.url, routes: routes.rest, onStop });
  const { functions, find } = host;

  const emulators = await emulatorsStarting;
  await deployData(template, emulators);
  const { queues } = emulators.fauxqs;
  const schedules = createSchedules({ ...shared, store, find, queues });
  onStop(() => schedules.stop());
  const secrets = openSecretStore(directory);
  const eventBuses = createEventBuses({ ...shared, queues, deliversTwice: settings.deliversEventsTwice });
  onStop(() => eventBuses.stop());
  gateway.mount({
    ...shared,
    services: cloudServices({
      ...shared,
      emulators,
      secrets,
      find,
      gatewayUrl: gateway.url,
      schedules: schedules.service,
      events: eventBuses,
      connections: socketServer.connections,
      socketRoutes: routes.sockets,
    }),
  });

  // After the grace period, the cleanup of the functions ends the threads of the remaining batches.
  onStop(() => host.stopPolling());
  await host.deploy();
  schedules.deploy();
  const apis = await openApis({ ...shared, find, routes, socketServer, port, origins });
  onStop(() => apis.close());
  // Deployed code starts with the first message, and knows the address of the API.
  if (apis.addresses.url !== undefined) late.apiAddress = apis.addresses.url;
  host.startPolling({ fauxqs: emulators.fauxqs, throttledVisibilityMs, callDelay });
  const { accessKeyId, secretAccessKey } = principals.createOwnerPrincipal();
  return {
    ...apis.addresses,
    template,
    emulators,
    functions,
    recorder,
    secrets,
    tables: { url: gateway.url, accessKeyId, secretAccessKey },
    onClockAdvance: () => setTimersAgain(schedules, emulators),
    busEvents: eventBuses.recent,
    worker: workerVariables(template, principals, gateway.url),
  };
}
