/** `stepwell worker start`: finds the settings, and runs the worker program until it is stopped. */
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import * as z from 'zod';
import { type Action, CliError, type CommandContext, exitCodes, type Outcome } from '../command.ts';
import { defaultConcurrency } from '../commands/code.ts';
import { localDirectory } from '../project-folder.ts';
import { file, integerBetween, parseOptions } from '../parse-command-line.ts';
import { profilePath, readProfiles } from '../profile-file.ts';
import { findProject, maxConcurrency } from '../project/project.ts';
import { environmentNames } from '../../contract/environment.ts';
import type { RunWorker, WorkerLogLine } from '../../contract/worker-program.ts';
import { unreachable } from '../../engine/invariant.ts';

/** SQS allows twelve hours. With more than this, the run of a crashed worker waits too long. */
const maxVisibilityTimeoutSeconds = 900;
const maxDrainSeconds = 3_600;

const startWorkerOptions = z.object({
  settings: file.optional(),
  profile: z.string().optional(),
  concurrency: integerBetween(1, maxConcurrency).optional(),
  visibilityTimeoutSeconds: integerBetween(3, maxVisibilityTimeoutSeconds),
  drainSeconds: integerBetween(1, maxDrainSeconds),
});

export const startWorker: Action = (commandLine, context) => createStartWorker(loadWorker)(commandLine, context);

/** @param load loads the worker program */
export const createStartWorker =
  (load: () => Promise<RunWorker>): Action =>
  async (commandLine, context) => {
    const {
      settings,
      profile,
      concurrency: requestedConcurrency,
      visibilityTimeoutSeconds,
      drainSeconds,
    } = parseOptions(commandLine, startWorkerOptions);
    const project = await findProject(context);
    const { variables, source } = workerSettings(context, { file: settings, profile, projectProfile: project?.profile });
    const concurrency = requestedConcurrency ?? project?.concurrency ?? defaultConcurrency;
    const log = createLogger(context);
    log({ level: 'info', message: `receiving messages of ${source}, up to ${concurrency} at once` });
    const runWorker = await load();
    const end = await runWorker({ variables, concurrency, visibilityTimeoutSeconds, drainSeconds, stop: context.signal, log });
    switch (end.kind) {
      case 'finished':
        return outcomeOf(end);
      case 'refused':
        throw new CliError('aws', `AWS: ${end.message}`);
      case 'unreachable':
        throw new CliError('aws', `AWS: ${end.message}`, exitCodes.unreachable);
      case 'missing_variables':
        throw new CliError('worker_settings', `${source} lacks ${end.names.join(', ')}.`, exitCodes.usage);
      default:
        return unreachable(end);
    }
  };

const outcomeOf = ({ completed, remaining }: { readonly completed: number; readonly remaining: number }): Outcome => ({
  data: { completed, remaining },
  text: `${completed} completed${remaining === 0 ? '' : `, ${remaining} left for other workers`}.`,
});

/** Writes one log line, as text or with `--json` as a JSON object. */
const createLogger =
  ({ isJson, log, now }: Pick<CommandContext, 'isJson' | 'log' | 'now'>) =>
  ({ level, message, ...facts }: WorkerLogLine): void => {
    const at = new Date(now()).toISOString();
    if (isJson) return log(JSON.stringify({ at, level, message, ...facts }));
    const formattedFacts = Object.entries(facts).map(
      ([name, value]) => ` ${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
    );
    log(`${at} ${level.padEnd(5)} ${message}${formattedFacts.join('')}`);
  };

const bundledProgram = new URL('../../worker/index.mjs', import.meta.url);
const sourceProgram = new URL('../../../functions/code/process.ts', import.meta.url);

const programShape = z.object({ runWorker: z.custom<RunWorker>((value) => typeof value === 'function') });

/** Loads the worker program: the source in a checkout, the bundle in the package. Only this command loads it, with the AWS SDK. */
export async function loadWorker(): Promise<RunWorker> {
  const { href } = existsSync(bundledProgram) ? bundledProgram : sourceProgram;
  const loaded: unknown = await import(href);
  return programShape.parse(loaded).runWorker;
}

interface WorkerSettings {
  readonly variables: Readonly<Record<string, string>>;
  /** for messages, such as `the profile prod` */
  readonly source: string;
}

/** The environment variables of the code function. The embedded cloud adds AWS variables such as the endpoint. */
const variablesShape = z.record(
  z.string().regex(/^(STEPWELL|AWS)_[A-Z0-9_]+$/, 'is not a variable of the code function'),
  z.string(),
);

export interface SettingsRequest {
  /** `--settings` */
  readonly file: string | undefined;
  /** `--profile` */
  readonly profile: string | undefined;
  /** the profile of the project */
  readonly projectProfile: string | undefined;
}

/** Finds the tables and queues of the worker. @throws CliError if no source is configured or readable */
export function workerSettings(
  environment: Pick<CommandContext, 'env' | 'cwd'>,
  { file, profile, projectProfile }: SettingsRequest,
): WorkerSettings {
  const { env, cwd } = environment;
  if (file !== undefined) return readSettings(resolve(cwd, file), file);
  if (profile !== undefined) return settingsOfProfile(environment, profile, `the profile ${profile}`);
  // The environment of a container precedes all files except those named on the command line.
  if (env[environmentNames.runsTable]) return { variables: {}, source: 'the environment' };
  const environmentProfile = env['STEPWELL_PROFILE'] || undefined;
  if (environmentProfile !== undefined)
    return settingsOfProfile(environment, environmentProfile, `the profile ${environmentProfile}, of STEPWELL_PROFILE`);
  if (projectProfile !== undefined)
    return settingsOfProfile(environment, projectProfile, `the profile ${projectProfile}, of the project`);
  const { current, profiles } = readProfiles(env);
  const currentSettings = current === undefined ? undefined : profiles[current]?.workerSettings;
  if (currentSettings !== undefined) return readSettings(currentSettings, `the profile ${current}, the current profile`);
  const localFile = join(localDirectory(environment), 'worker.json');
  const localSettings = readText(localFile);
  if (localSettings !== undefined)
    return { variables: parseVariables(localSettings, localFile), source: 'the embedded cloud of this folder' };
  throw settingsError(
    'No worker settings are configured: use --settings, a profile with --worker-settings, or a folder where the embedded cloud runs: npx stepwell start.',
  );
}

function settingsOfProfile({ env }: Pick<CommandContext, 'env'>, name: string, source: string): WorkerSettings {
  const profile = readProfiles(env).profiles[name];
  if (profile === undefined)
    throw new CliError(
      'no_profile',
      `There is no profile ${name} in ${profilePath(env)}. Add it with stepwell profiles add.`,
      exitCodes.usage,
    );
  if (profile.workerSettings === undefined)
    throw settingsError(`No worker settings in ${source}: add the profile again with --worker-settings.`);
  return readSettings(profile.workerSettings, source);
}

function readSettings(path: string, source: string): WorkerSettings {
  const text = readText(path);
  if (text === undefined) throw settingsError(`${path} cannot be read.`);
  return { variables: parseVariables(text, path), source };
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

function parseVariables(text: string, path: string): Readonly<Record<string, string>> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw settingsError(`${path} is not JSON.`);
  }
  const parsed = variablesShape.safeParse(value);
  if (parsed.success) return parsed.data;
  throw settingsError(`${path} must contain only variables of the code function:\n${z.prettifyError(parsed.error)}`);
}

const settingsError = (message: string): CliError => new CliError('worker_settings', message, exitCodes.usage);
