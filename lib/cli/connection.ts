/**
 * Resolves the installation and its API key. The first configured source wins: --url, --profile, STEPWELL_URL,
 * STEPWELL_PROFILE, the command's preference, the current profile, the embedded cloud of this folder, or of the project above it.
 * The key and the address of the start API come from the same source: no key is sent to the address of another installation. A source
 * without a key uses STEPWELL_API_KEY.
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
  startUrl: z.string().exactOptional(),
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
  if (url !== undefined) return connectionByUrl(url, undefined, env, '--url');
  if (profile !== undefined) return connectionByProfile(environment, profile, `the profile ${profile}`);
  if (env['STEPWELL_URL']) return connectionByUrl(env['STEPWELL_URL'], env['STEPWELL_START_URL'], env, 'STEPWELL_URL');
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
      {
        url: localInstallation.url,
        startUrl: localInstallation.startUrl,
        apiKey: localInstallation.apiKey,
        source: 'the embedded cloud of this folder',
      },
      permissionWarnings(file),
    );
  }
  const message =
    'No installation is configured: use --url, --profile or STEPWELL_URL, or a folder where the embedded cloud runs: npx stepwell start.';
  throw new CliError('no_connection', message, exitCodes.usage);
}

const keyFromEnvironment = (env: CliEnvironment['env']): string | undefined => env['STEPWELL_API_KEY']?.trim() || undefined;

const connectionByUrl = (url: string, startUrl: string | undefined, env: CliEnvironment['env'], source: string): Connection =>
  validateConnection({ url, startUrl, apiKey: keyFromEnvironment(env), source }, []);

function connectionByProfile({ env, cwd }: CliEnvironment, name: string, source: string): Connection {
  const profile = readProfiles(env).profiles[name];
  if (profile === undefined)
    throw new CliError(
      'no_profile',
      `There is no profile ${name} in ${profilePath(env)}. Add it with stepwell profiles add.`,
      exitCodes.usage,
    );
  const { url, startUrl, apiKeyEnv, apiKeyFile } = profile;
  if (apiKeyFile !== undefined) {
    const file = resolve(cwd, apiKeyFile);
    return validateConnection({ url, startUrl, apiKey: readKeyFile(file), source }, permissionWarnings(file));
  }
  if (apiKeyEnv === undefined) return validateConnection({ url, startUrl, apiKey: keyFromEnvironment(env), source }, []);
  const apiKey = env[apiKeyEnv]?.trim() || undefined;
  if (apiKey === undefined)
    throw new CliError('no_key', `${source} reads its key from ${apiKeyEnv}, which is not set.`, exitCodes.usage);
  return validateConnection({ url, startUrl, apiKey, source }, []);
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
  const { url, startUrl, source, apiKey } = candidate;
  // An empty variable counts as absent.
  const addresses = [url, ...(startUrl === undefined || startUrl === '' ? [] : [startUrl])];
  const unencrypted = addresses.filter((address) => !isEncrypted(address, source) && apiKey !== undefined);
  const [validUrl = '', validStartUrl] = addresses.map((address) => address.replace(/\/+$/, ''));
  return {
    ...candidate,
    url: validUrl,
    startUrl: validStartUrl,
    warnings: [...warnings, ...unencrypted.map((address) => `${address} is not https: the API key is sent unencrypted`)],
  };
}

/** Whether the key is encrypted on its way, or stays on this machine. @throws CliError for an address that no client can use */
function isEncrypted(text: string, source: string): boolean {
  const address = URL.canParse(text) ? new URL(text) : undefined;
  if (address === undefined || !/^https?:$/.test(address.protocol) || address.username !== '' || address.search !== '')
    throw usageError(`The address from ${source} must use http or https, such as https://example.com/prod.`);
  return address.protocol === 'https:' || /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(address.hostname);
}
