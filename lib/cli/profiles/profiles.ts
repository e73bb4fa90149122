/** `stepwell profiles …`: nothing here speaks to an installation. */
import { resolve } from 'node:path';
import * as z from 'zod';
import { type Action, CliFault, type Given, type Shell, usageFault } from '../command.ts';
import { argument, optionsIn, present } from '../given.ts';
import { type ProfileFile, profileNamePattern, readProfiles, writeProfiles } from '../profile-file.ts';
import { table } from '../words.ts';

const profileName = z
  .string({ error: 'is missing' })
  .regex(profileNamePattern, 'must be 1 to 64 letters, digits and _.-, beginning with a letter or a digit');

const addShape = z.object({
  url: z.url({ protocol: /^https?$/, error: 'must be given, and be an address of http or https' }),
  apiKeyEnv: z
    .string()
    .regex(/^[A-Za-z_]\w*$/, 'must be the name of an environment variable')
    .optional(),
  apiKeyFile: z.string().min(1).optional(),
  workerSettings: z.string().min(1).optional(),
});

export const listProfiles: Action = async (_given, shell) => {
  const { current, profiles } = readProfiles(shell.env);
  const items = Object.entries(profiles).map(([name, profile]) => ({ name, ...profile, isInUse: name === current }));
  const rows = items.map(({ name, url, apiKeyEnv, apiKeyFile, isInUse }) => [
    isInUse ? `* ${name}` : `  ${name}`,
    url,
    apiKeyEnv ?? apiKeyFile ?? 'STEPWELL_API_KEY',
  ]);
  return {
    data: { items },
    text: rows.length === 0 ? 'There is no profile.' : table(shell, ['  name', 'url', 'key from'], rows),
  };
};

export const addProfile: Action = async (given, shell) => {
  const name = argument(given, 0, 'name', profileName);
  const { url, apiKeyEnv, apiKeyFile, workerSettings: settings } = optionsIn(given, addShape);
  if (apiKeyEnv !== undefined && apiKeyFile !== undefined)
    throw usageFault('--api-key-env and --api-key-file exclude each other.');
  const keyFile = apiKeyFile === undefined ? undefined : resolve(shell.cwd, apiKeyFile);
  const workerSettings = settings === undefined ? undefined : resolve(shell.cwd, settings);
  const profile = { url: url.replace(/\/+$/, ''), ...present({ apiKeyEnv, apiKeyFile: keyFile, workerSettings }) };
  const file = readProfiles(shell.env);
  writeProfiles(shell.env, { ...file, profiles: { ...file.profiles, [name]: profile } });
  return { data: { name, ...profile }, text: `The profile ${name} is ${profile.url}.` };
};

export const removeProfile: Action = async (given, shell) => {
  const { name, file } = known(given, shell);
  const { [name]: _gone, ...profiles } = file.profiles;
  const { current } = file;
  writeProfiles(shell.env, { profiles, ...(current === undefined || current === name ? {} : { current }) });
  return { data: { name }, text: `The profile ${name} is gone.` };
};

export const useProfile: Action = async (given, shell) => {
  const { name, file } = known(given, shell);
  writeProfiles(shell.env, { ...file, current: name });
  return { data: { name }, text: `The profile ${name} is in use.` };
};

function known(given: Given, shell: Shell): { readonly name: string; readonly file: ProfileFile } {
  const name = argument(given, 0, 'name', profileName);
  const file = readProfiles(shell.env);
  if (!Object.hasOwn(file.profiles, name)) throw new CliFault('no_profile', `There is no profile ${name}.`);
  return { name, file };
}
