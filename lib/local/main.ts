/** `npm start`: runs the template on this machine until Ctrl-C. Nothing heavy is imported here: a start takes half a second. */
import { rmSync } from 'node:fs';
import { enableCompileCache, flushCompileCache } from 'node:module';
import { join } from 'node:path';
import type { Cloud } from './cloud.ts';
import { describeHolder, lockInstance } from './instance-lock.ts';
import { privateFolder } from './private-folder.ts';
import { readSettings, SettingsFault, type Settings } from './settings.ts';
import { writePrivate } from './state-files.ts';

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const complain = (line: string): void => void process.stderr.write(`${line}\n`);

/** A second signal within this time is the same Ctrl-C: the terminal sends it to everyone, and whoever started this passes it on. */
const sameSignalMs = 1_000;

async function run(settings: Settings): Promise<void> {
  const { directory, root } = settings;
  // Of whatever is written from here on, also by the emulators: tables, queues and logs hold what runs were given.
  process.umask(0o077);
  privateFolder(directory);
  const lock = lockInstance(directory);
  if (lock === undefined) throw new SettingsFault(`Stepwell already runs on ${directory}: ${describeHolder(directory)}`);
  // what Node makes of the sources is kept: a start without it takes twice as long
  enableCompileCache(join(directory, 'cache'));
  const infoFile = join(directory, 'local.json');
  const workerFile = join(directory, 'worker.json');
  const forget = (): void => [infoFile, workerFile].forEach((file) => rmSync(file, { force: true }));
  forget();

  let cloud: Cloud | undefined;
  let stoppingSince: number | undefined;
  async function stop(exitCode: number): Promise<void> {
    if (stoppingSince !== undefined) {
      if (performance.now() - stoppingSince > sameSignalMs) process.exit(1);
      return;
    }
    stoppingSince = performance.now();
    forget();
    await cloud?.stop();
    lock?.release();
    process.exit(exitCode);
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      if (stoppingSince === undefined) say('Stopping …');
      stop(0).catch((error: unknown) => {
        complain(String(error));
        process.exit(1);
      });
    });
  }

  const [{ synthesize }, { loadAssembly }, { startCloud }] = await Promise.all([
    import('./synth/synthesize.ts'),
    import('./template/assembly.ts'),
    import('./cloud.ts'),
  ]);
  const assembly = synthesize(root, directory).then((synthesis) => loadAssembly(synthesis.directory));
  const started = await startCloud({
    ...settings,
    assembly,
    warn: complain,
    onDeath: (why) => {
      complain(why);
      void stop(1);
    },
  });
  cloud = started;
  if (started.url === undefined) throw new SettingsFault('The template has no API: functions/api is not there');
  const [{ localKey }, { demoSecret }] = await Promise.all([import('./local-key.ts'), import('./demo-webhook.ts')]);
  const apiKey = localKey(started);
  if (started.worker !== undefined) writePrivate(workerFile, started.worker);
  writePrivate(infoFile, {
    url: started.url,
    socketUrl: started.socketUrl,
    // for whoever reads the tables as they are
    tables: started.tables,
    apiKey,
    webhookSecret: demoSecret(started.secrets),
    pid: process.pid,
  });
  const { greeting } = await import('./greeting.ts');
  say(greeting({ url: started.url, socketUrl: started.socketUrl, apiKey, directory }));
  flushCompileCache();
}

try {
  await run(readSettings(process.env, process.cwd()));
} catch (error) {
  const isExpected = error instanceof Error && ['SettingsFault', 'TemplateFault', 'SynthesisFault'].includes(error.name);
  complain(isExpected ? error.message : String(error instanceof Error ? (error.stack ?? error.message) : error));
  process.exit(1);
}
