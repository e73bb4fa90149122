/** Reads and writes the profile file: installations and where to find the key of each. It never contains a key. */
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import * as z from 'zod';
import { CliError } from './command.ts';

export const profileNamePattern = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/;

const profile = z.strictObject({
  url: z.url({ protocol: /^https?$/ }),
  /** of the start API of the same installation */
  startUrl: z.url({ protocol: /^https?$/ }).exactOptional(),
  /** the name of an environment variable that holds the key */
  apiKeyEnv: z.string().min(1).exactOptional(),
  /** a file that holds the key and nothing else */
  apiKeyFile: z.string().min(1).exactOptional(),
  /** a file with the tables and queues for `worker start`; it contains no secret */
  workerSettings: z.string().min(1).exactOptional(),
});

const fileShape = z.strictObject({
  current: z.string().exactOptional(),
  profiles: z.record(z.string().regex(profileNamePattern), profile).default({}),
});
export type ProfileFile = z.output<typeof fileShape>;

type Environment = Readonly<Record<string, string | undefined>>;

export const profilePath = (env: Environment): string =>
  join(env['XDG_CONFIG_HOME'] || join(env['HOME'] || homedir(), '.config'), 'stepwell', 'config.json');

/** Returns no profiles if the file does not exist. @throws CliError if it cannot be read */
export function readProfiles(env: Environment): ProfileFile {
  const path = profilePath(env);
  let text;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return { profiles: {} };
    throw new CliError('profiles_unreadable', `${path} cannot be read: ${String(error)}`);
  }
  const parsed = fileShape.safeParse(parseJson(text));
  if (parsed.success) return parsed.data;
  throw new CliError('profiles_unreadable', `${path} is not a valid profile file:\n${z.prettifyError(parsed.error)}`);
}

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

/** Writes atomically: a temporary file replaces the old one. */
export function writeProfiles(env: Environment, file: ProfileFile): void {
  const path = profilePath(env);
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const temporaryPath = `${path}.${process.pid}.new`;
  writeFileSync(temporaryPath, `${JSON.stringify(file, null, 2)}\n`, { mode: 0o600 });
  renameSync(temporaryPath, path);
}
