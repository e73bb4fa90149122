/**
 * Resolves the installation and its API key. The first configured source wins: --url, --profile, STEPWELL_URL,
 * STEPWELL_PROFILE, the command's preference, the current profile, the embedded cloud of this folder, or of the project above it.
 * The key comes from the same source. A source without a key uses STEPWELL_API_KEY.
 */
import { readFileSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import * as z from 'zod';
import { CliError, type Connection, type ConnectionPreference, exitCodes, usageError } from './command.ts';
import { localDirectory } from './project-folder.ts';
import { profilePath, readProfiles } from './profile-file.ts';
import type { Terminal } from './command.ts';

type CliEnvironment = Pick<Terminal, 'env' | 'cwd'>;

const localShape = z.object({
  url: z.string(),
  apiKey: z.string(),
  pid: z.int().exactOptional(),
  /** nodes and models may send requests to this machine */
  allowsLocalhost: z.boolean().exactOptional(),
  /** where `clock advance` sends its request */
  clock: z.object({ url: z.string(), token: z.string() }).exactOptional(),
});

export const readLocalInstallation = (environment: CliEnvironment): z.output<typeof localShape> | undefined => {
  try {
    return localShape.parse(JSON.parse(readFileSync(join(localDirectory(environment), 'local.json'), 'utf8')));
  } catch {
    return undefined;
  }
};

export function resolveConnection(
  environment: CliEnvironment,
  options: Readonly<Record<string, unknown>>,
  preferred: ConnectionPreference = {},
): Connection {
  const { env } = environment;
  const { url, profile } = z.object({ url: z.string().optional(), profile: z.string().optional() }).parse(options);
  if (url !== undefined && profile !== undefined) throw usageError('--url and --profile exclude each other.');
  if (url !== undefined) return connectionByUrl(url, env, '--url');
  if (profile !== undefined) return connectionByProfile(environment, profile, `the profile ${profile}`);
  if (env['STEPWELL_URL']) return connectionByUrl(env['STEPWELL_URL'], env, 'STEPWELL_URL');
  if (env['STEPWELL_PROFILE'])
    return connectionByProfile(
      environment,
      env['STEPWELL_PROFILE'],
      `the profile ${env['STEPWELL_PROFILE']}, of STEPWELL_PROFILE`,
    );
  if (preferred.profile !== undefined)
    return connectionByProfile(environment, preferred.profile, `the profile ${preferred.profile}, of the project`);
  const { current } = preferred.isEmbedded === true ? {} : readProfiles(env);
  if (current !== undefined) return connectionByProfile(environment, current, `the profile ${current}, the current profile`);
  const localInstallation = readLocalInstallation(environment);
  if (localInstallation !== undefined) {
    const file = join(localDirectory(environment), 'local.json');
    return validateConnection(
      { url: localInstallation.url, apiKey: localInstallation.apiKey, source: 'the embedded cloud of this folder' },
      permissionWarnings(file),
    );
  }
  const message =
    'No installation is configured: use --url, --profile or STEPWELL_URL, or a folder where the embedded cloud runs: npx stepwell start.';
  throw new CliError('no_connection', message, exitCodes.usage);
}

const keyFromEnvironment = (env: CliEnvironment['env']): string | undefined => env['STEPWELL_API_KEY']?.trim() || undefined;

const connectionByUrl = (url: string, env: CliEnvironment['env'], source: string): Connection =>
  validateConnection({ url, apiKey: keyFromEnvironment(env), source }, []);

function connectionByProfile({ env, cwd }: CliEnvironment, name: string, source: string): Connection {
  const profile = readProfiles(env).profiles[name];
  if (profile === undefined)
    throw new CliError(
      'no_profile',
      `There is no profile ${name} in ${profilePath(env)}. Add it with stepwell profiles add.`,
      exitCodes.usage,
    );
  const { url, apiKeyEnv, apiKeyFile } = profile;
  if (apiKeyFile !== undefined) {
    const file = resolve(cwd, apiKeyFile);
    return validateConnection({ url, apiKey: readKeyFile(file), source }, permissionWarnings(file));
  }
  if (apiKeyEnv === undefined) return validateConnection({ url, apiKey: keyFromEnvironment(env), source }, []);
  const apiKey = env[apiKeyEnv]?.trim() || undefined;
  if (apiKey === undefined)
    throw new CliError('no_key', `${source} reads its key from ${apiKeyEnv}, which is not set.`, exitCodes.usage);
  return validateConnection({ url, apiKey, source }, []);
}

function readKeyFile(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch {
    throw new CliError('no_key', `The key file ${file} cannot be read.`, exitCodes.usage);
  }
}

/** Warns if users other than the owner can read the key file. */
function permissionWarnings(file: string): readonly string[] {
  const mode = statSync(file, { throwIfNoEntry: false })?.mode ?? 0;
  return (mode & 0o077) === 0 ? [] : [`${file} holds a key and can be read by others: chmod 600 ${file}`];
}

function validateConnection(candidate: Omit<Connection, 'warnings'>, warnings: readonly string[]): Connection {
  const address = URL.canParse(candidate.url) ? new URL(candidate.url) : undefined;
  if (address === undefined || !/^https?:$/.test(address.protocol) || address.username !== '' || address.search !== '')
    throw usageError(`The address from ${candidate.source} must use http or https, such as https://example.com/prod.`);
  const isLoopback = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(address.hostname);
  const sendsKeyUnencrypted = address.protocol === 'http:' && !isLoopback && candidate.apiKey !== undefined;
  return {
    ...candidate,
    url: candidate.url.replace(/\/+$/, ''),
    warnings: sendsKeyUnencrypted ? [...warnings, `${candidate.url} is not https: the API key is sent unencrypted`] : warnings,
  };
}
