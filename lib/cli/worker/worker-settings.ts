/** Where a worker finds its tables and queues. */
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import * as z from 'zod';
import { environmentNames } from '../../contract/environment.ts';
import { CliError, type CommandContext, exitCodes } from '../command.ts';
import { localDirectory } from '../connection.ts';
import { profilePath, readProfiles } from '../profile-file.ts';

interface WorkerSettings {
  readonly variables: Readonly<Record<string, string>>;
  /** in words, such as `the profile prod` */
  readonly source: string;
}

/** What a function's environment is; of AWS's own variables it has what the embedded cloud says. */
const variablesShape = z.record(z.string().regex(/^(STEPWELL|AWS)_[A-Z0-9_]+$/, 'no variable of a function'), z.string());

export interface SettingsRequest {
  /** `--settings` */
  readonly file: string | undefined;
  /** `--profile` */
  readonly profile: string | undefined;
  /** of the project */
  readonly projectProfile: string | undefined;
}

/** @throws CliError where there is nothing, or it cannot be read */
export function workerSettings(
  environment: Pick<CommandContext, 'env' | 'cwd'>,
  { file, profile, projectProfile }: SettingsRequest,
): WorkerSettings {
  const { env, cwd } = environment;
  if (file !== undefined) return readSettings(resolve(cwd, file), file);
  if (profile !== undefined) return settingsOfProfile(environment, profile, `the profile ${profile}`);
  // In this order the environment of a container is before all that lies on a disk.
  if (env[environmentNames.runsTable]) return { variables: {}, source: 'the environment' };
  const environmentProfile = env['STEPWELL_PROFILE'] || undefined;
  if (environmentProfile !== undefined)
    return settingsOfProfile(environment, environmentProfile, `the profile ${environmentProfile}, of STEPWELL_PROFILE`);
  if (projectProfile !== undefined)
    return settingsOfProfile(environment, projectProfile, `the profile ${projectProfile}, of the project`);
  const { current, profiles } = readProfiles(env);
  const currentSettings = current === undefined ? undefined : profiles[current]?.workerSettings;
  if (currentSettings !== undefined) return readSettings(currentSettings, `the profile ${current}, which is in use`);
  const localFile = join(localDirectory(environment), 'worker.json');
  const localSettings = readText(localFile);
  if (localSettings !== undefined)
    return { variables: parseVariables(localSettings, localFile), source: 'the embedded cloud of this folder' };
  throw settingsError(
    'There is nothing that says where the tables and queues are: give --settings or a profile with --worker-settings, or be in a folder where `npm start` runs.',
  );
}

function settingsOfProfile({ env }: Pick<CommandContext, 'env'>, name: string, source: string): WorkerSettings {
  const profile = readProfiles(env).profiles[name];
  if (profile === undefined)
    throw new CliError('no_profile', `There is no profile ${name} in ${profilePath(env)}.`, exitCodes.usage);
  if (profile.workerSettings === undefined)
    throw settingsError(`Of workers, ${source} says nothing: add it again with --worker-settings.`);
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
  throw settingsError(`${path} holds other things than a function's variables:\n${z.prettifyError(parsed.error)}`);
}

const settingsError = (message: string): CliError => new CliError('worker_settings', message, exitCodes.usage);
