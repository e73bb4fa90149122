/** Finds the folder of a project from a folder below it, as git does: the nearest one with a configuration or the state of an embedded cloud. */
import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { Terminal } from './command.ts';

export const configNames = ['ts', 'mts', 'js', 'mjs', 'json'].map((ending) => `stepwell.config.${ending}`);
const stateFolder = '.stepwell';

type FolderEnvironment = Pick<Terminal, 'env' | 'cwd'>;

/** The folder of the project; `cwd` if there is none. A state folder of the home directory belongs to no project below it. */
export function projectFolder({ env, cwd }: FolderEnvironment): string {
  const start = resolve(cwd);
  const home = env['HOME'] === undefined || env['HOME'] === '' ? undefined : resolve(env['HOME']);
  for (let folder = start; folder === start || folder !== home; folder = dirname(folder)) {
    if ([stateFolder, ...configNames].some((name) => existsSync(join(folder, name)))) return folder;
    if (folder === dirname(folder)) break;
  }
  return start;
}

/** The state folder of the embedded cloud: STEPWELL_DIR, or `.stepwell` of the project. */
export const localDirectory = (environment: FolderEnvironment): string => {
  const configured = environment.env['STEPWELL_DIR'];
  return configured ? resolve(environment.cwd, configured) : join(projectFolder(environment), stateFolder);
};
