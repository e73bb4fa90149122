/** Where a worker finds its tables and queues. */
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import * as z from 'zod';
import { environmentNames } from '../../contract/environment.ts';
import { CliFault, type Shell, exitCodes } from '../command.ts';
import { localFolder } from '../connection.ts';
import { profilePath, readProfiles } from '../profile-file.ts';

interface WorkerSettings {
  readonly variables: Readonly<Record<string, string>>;
  /** in words, such as `the profile prod` */
  readonly source: string;
}

/** What a function's environment is; of AWS's own variables it has what the embedded cloud says. */
const variablesShape = z.record(z.string().regex(/^(STEPWELL|AWS)_[A-Z0-9_]+$/, 'no variable of a function'), z.string());

export interface Asked {
  /** `--settings` */
  readonly file: string | undefined;
  /** `--profile` */
  readonly profile: string | undefined;
  /** of the project */
  readonly preferred: string | undefined;
}

/** @throws CliFault where there is nothing, or it cannot be read */
export function workerSettings(place: Pick<Shell, 'env' | 'cwd'>, { file, profile, preferred }: Asked): WorkerSettings {
  const { env, cwd } = place;
  if (file !== undefined) return read(resolve(cwd, file), file);
  if (profile !== undefined) return ofProfile(place, profile, `the profile ${profile}`);
  // In this order the environment of a container is before all that lies on a disk.
  if (env[environmentNames.runsTable]) return { variables: {}, source: 'the environment' };
  const wanted = env['STEPWELL_PROFILE'] || undefined;
  if (wanted !== undefined) return ofProfile(place, wanted, `the profile ${wanted}, of STEPWELL_PROFILE`);
  if (preferred !== undefined) return ofProfile(place, preferred, `the profile ${preferred}, of the project`);
  const { current, profiles } = readProfiles(env);
  const used = current === undefined ? undefined : profiles[current]?.workerSettings;
  if (used !== undefined) return read(used, `the profile ${current}, which is in use`);
  const local = join(localFolder(place), 'worker.json');
  const found = textOf(local);
  if (found !== undefined) return { variables: variablesIn(found, local), source: 'the embedded cloud of this folder' };
  throw fault(
    'There is nothing that says where the tables and queues are: give --settings or a profile with --worker-settings, or be in a folder where `npm start` runs.',
  );
}

function ofProfile({ env }: Pick<Shell, 'env'>, name: string, source: string): WorkerSettings {
  const profile = readProfiles(env).profiles[name];
  if (profile === undefined)
    throw new CliFault('no_profile', `There is no profile ${name} in ${profilePath(env)}.`, exitCodes.usage);
  if (profile.workerSettings === undefined)
    throw fault(`Of workers, ${source} says nothing: add it again with --worker-settings.`);
  return read(profile.workerSettings, source);
}

function read(path: string, source: string): WorkerSettings {
  const text = textOf(path);
  if (text === undefined) throw fault(`${path} cannot be read.`);
  return { variables: variablesIn(text, path), source };
}

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

function variablesIn(text: string, path: string): Readonly<Record<string, string>> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw fault(`${path} is not JSON.`);
  }
  const parsed = variablesShape.safeParse(value);
  if (parsed.success) return parsed.data;
  throw fault(`${path} holds other things than a function's variables:\n${z.prettifyError(parsed.error)}`);
}

const fault = (message: string): CliFault => new CliFault('worker_settings', message, exitCodes.usage);
