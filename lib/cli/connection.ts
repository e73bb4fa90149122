/**
 * Which installation is spoken to, with which key. The first of these that is given: --url, --profile, STEPWELL_URL,
 * STEPWELL_PROFILE, what the command prefers, the profile in use, the embedded cloud of this folder. The key is that of the same place; where the place
 * names none, it is STEPWELL_API_KEY.
 */
import { readFileSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import * as z from 'zod';
import { CliFault, type Connection, type PreferredPlace, exitCodes, usageFault } from './command.ts';
import { profilePath, readProfiles } from './profile-file.ts';
import type { Terminal } from './terminal.ts';

type Place = Pick<Terminal, 'env' | 'cwd'>;

const localShape = z.object({ url: z.string(), apiKey: z.string(), pid: z.int().exactOptional() });

/** Where the embedded cloud of this folder keeps its state. */
export const localFolder = ({ env, cwd }: Place): string => resolve(cwd, env['STEPWELL_DIR'] || '.stepwell');

export const readLocal = (place: Place): z.output<typeof localShape> | undefined => {
  try {
    return localShape.parse(JSON.parse(readFileSync(join(localFolder(place), 'local.json'), 'utf8')));
  } catch {
    return undefined;
  }
};

export function connectionOf(
  place: Place,
  options: Readonly<Record<string, unknown>>,
  preferred: PreferredPlace = {},
): Connection {
  const { env } = place;
  const { url, profile } = z.object({ url: z.string().optional(), profile: z.string().optional() }).parse(options);
  if (url !== undefined && profile !== undefined) throw usageFault('--url and --profile exclude each other.');
  if (url !== undefined) return direct(url, env, '--url');
  if (profile !== undefined) return ofProfile(place, profile, `the profile ${profile}`);
  if (env['STEPWELL_URL']) return direct(env['STEPWELL_URL'], env, 'STEPWELL_URL');
  if (env['STEPWELL_PROFILE'])
    return ofProfile(place, env['STEPWELL_PROFILE'], `the profile ${env['STEPWELL_PROFILE']}, of STEPWELL_PROFILE`);
  if (preferred.profile !== undefined)
    return ofProfile(place, preferred.profile, `the profile ${preferred.profile}, of the project`);
  const { current } = preferred.isEmbedded === true ? {} : readProfiles(env);
  if (current !== undefined) return ofProfile(place, current, `the profile ${current}, which is in use`);
  const local = readLocal(place);
  if (local !== undefined) {
    const file = join(localFolder(place), 'local.json');
    return checked({ url: local.url, apiKey: local.apiKey, source: 'the embedded cloud of this folder' }, openTo(file));
  }
  const message =
    'There is no installation to speak to: give --url, --profile or STEPWELL_URL, or be in a folder where `npm start` runs.';
  throw new CliFault('no_connection', message, exitCodes.usage);
}

const keyInEnv = (env: Place['env']): string | undefined => env['STEPWELL_API_KEY']?.trim() || undefined;

const direct = (url: string, env: Place['env'], source: string): Connection =>
  checked({ url, apiKey: keyInEnv(env), source }, []);

function ofProfile({ env, cwd }: Place, name: string, source: string): Connection {
  const profile = readProfiles(env).profiles[name];
  if (profile === undefined)
    throw new CliFault('no_profile', `There is no profile ${name} in ${profilePath(env)}.`, exitCodes.usage);
  const { url, apiKeyEnv, apiKeyFile } = profile;
  if (apiKeyFile !== undefined) {
    const file = resolve(cwd, apiKeyFile);
    return checked({ url, apiKey: keyInFile(file), source }, openTo(file));
  }
  if (apiKeyEnv === undefined) return checked({ url, apiKey: keyInEnv(env), source }, []);
  const apiKey = env[apiKeyEnv]?.trim() || undefined;
  if (apiKey === undefined)
    throw new CliFault('no_key', `${source} takes its key from ${apiKeyEnv}, which is not set.`, exitCodes.usage);
  return checked({ url, apiKey, source }, []);
}

function keyInFile(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch {
    throw new CliFault('no_key', `The key file ${file} cannot be read.`, exitCodes.usage);
  }
}

/** A key is for its owner's eyes. */
function openTo(file: string): readonly string[] {
  const mode = statSync(file, { throwIfNoEntry: false })?.mode ?? 0;
  return (mode & 0o077) === 0 ? [] : [`${file} holds a key and can be read by others: chmod 600 ${file}`];
}

function checked(found: Omit<Connection, 'warnings'>, warnings: readonly string[]): Connection {
  const address = URL.canParse(found.url) ? new URL(found.url) : undefined;
  if (address === undefined || !/^https?:$/.test(address.protocol) || address.username !== '' || address.search !== '')
    throw usageFault(`The address of ${found.source} must be one of http or https, such as https://example.com/prod.`);
  const isHere = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(address.hostname);
  const isBare = address.protocol === 'http:' && !isHere && found.apiKey !== undefined;
  return {
    ...found,
    url: found.url.replace(/\/+$/, ''),
    warnings: isBare ? [...warnings, `${found.url} is not https: the key can be read on its way`] : warnings,
  };
}
