/** The project that a folder belongs to: its `stepwell.config.…`, found here or in a folder above, read and judged. */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, extname, join, resolve } from 'node:path';
import * as z from 'zod';
import { CliFault, type Shell, exitCodes } from '../command.ts';
import { messageOf } from '../fault-of.ts';
import { type AsideShell, importAside } from './import-aside.ts';

export const configNames = ['ts', 'mts', 'js', 'mjs', 'json'].map((ending) => `stepwell.config.${ending}`);
export const mostConcurrency = 1_000;

const folders = z.union([z.string().min(1), z.array(z.string().min(1)).min(1)]);
const config = z.strictObject({
  dirs: folders.default('workflows').transform((given) => (typeof given === 'string' ? [given] : given)),
  ignorePatterns: z.array(z.string().min(1)).default([]),
  worker: z.strictObject({ concurrency: z.int().min(1).max(mostConcurrency).exactOptional() }).default({}),
  profile: z.string().min(1).exactOptional(),
  // Of the application (docs/OWNERSHIP.md), and judged by `check-config`.
  url: z.unknown().optional(),
  execution: z.unknown().optional(),
  remoteWorldTarget: z.unknown().optional(),
});

export interface Project {
  /** the folder of the configuration */
  readonly root: string;
  readonly dirs: readonly string[];
  readonly ignorePatterns: readonly string[];
  readonly profile: string | undefined;
  /** messages for code that one worker has in its hands at once */
  readonly concurrency: number | undefined;
}

/** @throws CliFault where there is none, or it says what cannot be */
export async function projectOf(shell: AsideShell & Pick<Shell, 'cwd'>): Promise<Project> {
  const file = fileAbove(shell.cwd);
  const read = config.safeParse(await valueOf(shell, file));
  if (!read.success) {
    const faults = read.error.issues.map(({ path, message }) => `  /${path.join('/')}: ${message}`);
    throw invalid(`${file} says what cannot be:\n${faults.join('\n')}`);
  }
  const { dirs, ignorePatterns, profile, worker } = read.data;
  return { root: dirname(file), dirs, ignorePatterns, profile, concurrency: worker.concurrency };
}

/** The same, where it is no fault that there is none. */
export async function projectHere(shell: AsideShell & Pick<Shell, 'cwd'>): Promise<Project | undefined> {
  try {
    return await projectOf(shell);
  } catch (trouble) {
    if (trouble instanceof CliFault && trouble.code === 'no_project') return undefined;
    throw trouble;
  }
}

const invalid = (message: string): CliFault => new CliFault('config_invalid', message, exitCodes.usage);

function fileAbove(cwd: string): string {
  for (let folder = resolve(cwd); ; folder = dirname(folder)) {
    const here = configNames.map((name) => join(folder, name)).filter((path) => existsSync(path));
    const [file, other] = here;
    if (other !== undefined) throw invalid(`Only one of ${here.join(' and ')} may be there.`);
    if (file !== undefined) return file;
    if (folder === dirname(folder))
      throw new CliFault(
        'no_project',
        `There is no ${configNames[0]} in ${cwd} or above it: stepwell init writes one.`,
        exitCodes.usage,
      );
  }
}

async function valueOf(shell: AsideShell, file: string): Promise<unknown> {
  if (extname(file) === '.json') {
    try {
      return JSON.parse(readFileSync(file, 'utf8'));
    } catch (trouble) {
      throw invalid(`${file} cannot be read: ${messageOf(trouble)}.`);
    }
  }
  const told = await importAside(shell, file, 'default');
  if ('fault' in told) throw invalid(`${file} cannot be read: ${told.fault}.`);
  return told.value;
}
