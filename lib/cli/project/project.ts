/** The project that a folder belongs to: its `stepwell.config.…`, found here or in a folder above, read and judged. */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, extname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import * as z from 'zod';
import { CliFault, exitCodes } from '../command.ts';
import { messageOf } from '../fault-of.ts';
import { findSdk } from './own-sdk.ts';

export const configNames = ['ts', 'mts', 'js', 'mjs', 'json'].map((ending) => `stepwell.config.${ending}`);
const mostConcurrency = 1_000;

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
}

/** @throws CliFault where there is none, or it says what cannot be */
export async function projectOf(cwd: string): Promise<Project> {
  const file = fileAbove(cwd);
  const read = config.safeParse(await valueOf(file));
  if (!read.success) {
    const faults = read.error.issues.map(({ path, message }) => `  /${path.join('/')}: ${message}`);
    throw invalid(`${file} says what cannot be:\n${faults.join('\n')}`);
  }
  const { dirs, ignorePatterns, profile } = read.data;
  return { root: dirname(file), dirs, ignorePatterns, profile };
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

const moduleShape = z.object({ default: z.unknown().optional() });

async function valueOf(file: string): Promise<unknown> {
  try {
    if (extname(file) === '.json') return JSON.parse(readFileSync(file, 'utf8'));
    findSdk();
    return moduleShape.parse(await import(pathToFileURL(file).href)).default;
  } catch (trouble) {
    throw invalid(`${file} cannot be read: ${messageOf(trouble)}`);
  }
}
