/** `stepwell profiles …`. These commands send no requests. */
import { resolve } from 'node:path';
import * as z from 'zod';
import { type Action, CliError, type CommandContext, type CommandLine, usageError } from '../command.ts';
import { formatTable } from '../format.ts';
import { omitUndefined, parseArgument, parseOptions } from '../parse-command-line.ts';
import { type ProfileFile, profileNamePattern, readProfiles, writeProfiles } from '../profile-file.ts';
import { defined } from '../../base/defined.ts';

const profileName = z
  .string({ error: 'is missing' })
  .regex(profileNamePattern, 'must be 1 to 64 letters, digits and _.-, beginning with a letter or a digit');

const addProfileOptions = z.object({
  url: z.url({ protocol: /^https?$/, error: 'is required and must be an http or https address' }),
  startUrl: z.url({ protocol: /^https?$/, error: 'must be an http or https address' }).optional(),
  apiKeyEnv: z
    .string()
    .regex(/^[A-Za-z_]\w*$/, 'must be the name of an environment variable')
    .optional(),
  apiKeyFile: z.string().min(1).optional(),
  workerSettings: z.string().min(1).optional(),
});

export const listProfiles: Action = async (_commandLine, context) => {
  const { current, profiles } = readProfiles(context.env);
  const items = Object.entries(profiles).map(([name, profile]) => ({ name, ...profile, isInUse: name === current }));
  const rows = items.map(({ name, url, apiKeyEnv, apiKeyFile, isInUse }) => [
    isInUse ? `* ${name}` : `  ${name}`,
    url,
    apiKeyEnv ?? apiKeyFile ?? 'STEPWELL_API_KEY',
  ]);
  return {
    data: { items },
    text: rows.length === 0 ? 'No profiles.' : formatTable(context, ['  name', 'url', 'key from'], rows),
  };
};

export const addProfile: Action = async (commandLine, context) => {
  const name = parseArgument(commandLine, 0, 'name', profileName);
  const { url, startUrl, apiKeyEnv, apiKeyFile, workerSettings: settings } = parseOptions(commandLine, addProfileOptions);
  if (apiKeyEnv !== undefined && apiKeyFile !== undefined)
    throw usageError('--api-key-env and --api-key-file exclude each other.');
  const keyFile = apiKeyFile === undefined ? undefined : resolve(context.cwd, apiKeyFile);
  const workerSettings = settings === undefined ? undefined : resolve(context.cwd, settings);
  const profile = {
    url: url.replace(/\/+$/, ''),
    ...omitUndefined({ startUrl: startUrl?.replace(/\/+$/, ''), apiKeyEnv, apiKeyFile: keyFile, workerSettings }),
  };
  const file = readProfiles(context.env);
  writeProfiles(context.env, { ...file, profiles: { ...file.profiles, [name]: profile } });
  return { data: { name, ...profile }, text: `The profile ${name} uses ${profile.url}.` };
};

export const removeProfile: Action = async (commandLine, context) => {
  const { name, file } = readExistingProfile(commandLine, context);
  const { [name]: _removed, ...profiles } = file.profiles;
  const { current } = file;
  writeProfiles(context.env, defined({ profiles, current: current === undefined || current === name ? undefined : current }));
  return { data: { name }, text: `The profile ${name} is removed.` };
};

export const useProfile: Action = async (commandLine, context) => {
  const { name, file } = readExistingProfile(commandLine, context);
  writeProfiles(context.env, { ...file, current: name });
  return { data: { name }, text: `The profile ${name} is now the current profile.` };
};

function readExistingProfile(
  commandLine: CommandLine,
  context: CommandContext,
): { readonly name: string; readonly file: ProfileFile } {
  const name = parseArgument(commandLine, 0, 'name', profileName);
  const file = readProfiles(context.env);
  if (!Object.hasOwn(file.profiles, name)) throw new CliError('no_profile', `There is no profile ${name}.`);
  return { name, file };
}
