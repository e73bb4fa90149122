/** `npm start`: runs the template on this machine until Ctrl-C. Heavy modules are imported later, so a start takes half a second. */
import { existsSync, rmSync } from 'node:fs';
import { enableCompileCache, flushCompileCache } from 'node:module';
import { join } from 'node:path';
import { environmentNames } from '../contract/environment.ts';
import type { ClockServer, CloudClock } from './clock/cloud-clock.ts';
import type { Cloud } from './cloud.ts';
import { describeHolder, ensurePrivateFolder, lockInstance, writePrivateJson, writePrivateText } from './instance-folder.ts';
import { localProject } from './local-credentials.ts';
import { readSettings, SettingsError, type Settings } from './settings.ts';

const printLine = (line: string): void => void process.stdout.write(`${line}\n`);
const printError = (line: string): void => void process.stderr.write(`${line}\n`);

/** A second signal within this time belongs to the same Ctrl-C: both the terminal and the parent process send it. */
const duplicateSignalWindowMs = 1_000;

async function run(settings: Settings): Promise<void> {
  const { directory, app } = settings;
  // Applies to all files, including the emulators': tables, queues and logs contain the inputs of runs.
  process.umask(0o077);
  ensurePrivateFolder(directory);
  const lock = lockInstance(directory);
  if (lock === undefined) throw new SettingsError(`Stepwell already runs on ${directory}: ${describeHolder(directory)}`);
  const { openClock, openClockServer } = await import('./clock/cloud-clock.ts');
  const clock = openClock(directory);
  // Without the compile cache a start takes twice as long.
  enableCompileCache(join(directory, 'cache'));
  const stateFiles = {
    info: join(directory, 'local.json'),
    worker: join(directory, 'worker.json'),
    tables: join(directory, 'tables.env'),
  };
  const removeStateFiles = (): void => Object.values(stateFiles).forEach((file) => rmSync(file, { force: true }));
  removeStateFiles();

  let cloud: Cloud | undefined;
  let stoppingSince: number | undefined;
  async function stop(exitCode: number): Promise<void> {
    if (stoppingSince !== undefined) {
      if (performance.now() - stoppingSince > duplicateSignalWindowMs) process.exit(1);
      return;
    }
    stoppingSince = performance.now();
    removeStateFiles();
    await cloud?.stop();
    lock?.release();
    process.exit(exitCode);
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      if (stoppingSince === undefined) printLine('Stopping …');
      stop(0).catch((error: unknown) => {
        printError(String(error));
        process.exit(1);
      });
    });
  }

  const [{ synthesize }, { loadAssembly }, { startCloud }] = await Promise.all([
    import('./synth/synthesize.ts'),
    import('./template/assembly.ts'),
    import('./cloud.ts'),
  ]);
  const template = settings.allowsLocalhost ? { 'stepwell:allowLocalhost': true } : {};
  const assembly = synthesize(app, directory, template).then((synthesis) => loadAssembly(synthesis.directory));
  const started = await startCloud({
    ...settings,
    assembly,
    warn: printError,
    onEmulatorExit: (reason) => {
      printError(reason);
      void stop(1);
    },
  });
  const clockServer = await openClockServer(clock, started.onClockAdvance);
  cloud = { ...started, stop: () => clockServer.close().then(() => started.stop()) };
  await announce(started, { directory, allowsLocalhost: settings.allowsLocalhost, stateFiles, clock, clockServer });
  flushCompileCache();
}

/** For `node --env-file`: a program that stores its own items in the table of runs (docs/OPENWORKFLOW.md). */
const tableVariables = ({ tables: { url, accessKeyId, secretAccessKey }, worker }: Cloud): string =>
  Object.entries({
    AWS_ENDPOINT_URL: url,
    AWS_REGION: worker?.['AWS_REGION'] ?? 'us-east-1',
    AWS_ACCESS_KEY_ID: accessKeyId,
    AWS_SECRET_ACCESS_KEY: secretAccessKey,
    RUNS_TABLE: worker?.[environmentNames.runsTable] ?? '',
    RUNS_NAMESPACE: `${localProject.projectId}/${localProject.environment}`,
  })
    .map(([name, value]) => `${name}=${value}\n`)
    .join('');

interface Announced {
  readonly directory: string;
  readonly allowsLocalhost: boolean;
  readonly stateFiles: { readonly info: string; readonly worker: string; readonly tables: string };
  readonly clock: CloudClock;
  readonly clockServer: ClockServer;
}

/** Writes the files by which other programs find the cloud, and prints its addresses. */
async function announce(
  started: Cloud,
  { directory, allowsLocalhost, stateFiles, clock, clockServer }: Announced,
): Promise<void> {
  if (started.url === undefined)
    throw new SettingsError('The template has no REST API: check that the app creates functions/api');
  const { demoSecret, localKey } = await import('./local-credentials.ts');
  const apiKey = localKey(started);
  if (started.worker !== undefined) writePrivateJson(stateFiles.worker, started.worker);
  writePrivateText(stateFiles.tables, tableVariables(started));
  writePrivateJson(stateFiles.info, {
    url: started.url,
    startUrl: started.startUrl,
    socketUrl: started.socketUrl,
    // for tools that read the tables directly
    tables: started.tables,
    apiKey,
    webhookSecret: demoSecret(started.secrets),
    // for `stepwell clock advance`
    clock: { url: clockServer.url, token: clockServer.token },
    pid: process.pid,
    // for `stepwell dev --allow-localhost`, which may find this cloud
    allowsLocalhost,
  });
  const { firstWorkflow, greeting } = await import('./greeting.ts');
  const hasExamples = existsSync(join(process.cwd(), firstWorkflow));
  const { url, socketUrl } = started;
  printLine(greeting({ url, socketUrl, apiKey, directory, offsetMs: clock.offsetMs(), hasExamples }));
}

try {
  await run(readSettings(process.env, process.cwd()));
} catch (error) {
  const isExpected = error instanceof Error && ['SettingsError', 'TemplateError', 'SynthesisError'].includes(error.name);
  printError(isExpected ? error.message : String(error instanceof Error ? (error.stack ?? error.message) : error));
  process.exit(1);
}
