/** Finds, reads and validates the project configuration: `stepwell.config.…` in this folder or a parent. */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, extname, join, resolve } from 'node:path';
import * as z from 'zod';
import { appName } from '../../api/schemas/parts.ts';
import type { AppName } from '../../engine/ids.ts';
import { defaultApp } from '../../ports/deployments.ts';
import { CliError, type CommandContext, exitCodes } from '../command.ts';
import { messageOf } from '../describe-error.ts';
import { configNames } from '../project-folder.ts';
import { type ImportContext, importInThread } from './import-in-thread.ts';

export const maxConcurrency = 1_000;

const directories = z.union([z.string().min(1), z.array(z.string().min(1)).min(1)]);
const config = z.strictObject({
  app: appName.exactOptional(),
  dirs: directories.default('workflows').transform((value) => (typeof value === 'string' ? [value] : value)),
  ignorePatterns: z.array(z.string().min(1)).default([]),
  worker: z.strictObject({ concurrency: z.int().min(1).max(maxConcurrency).exactOptional() }).default({}),
  profile: z.string().min(1).exactOptional(),
  // Settings of the application (docs/OWNERSHIP.md). `check-config` validates them.
  url: z.unknown().optional(),
  execution: z.unknown().optional(),
  remoteWorldTarget: z.unknown().optional(),
});

export interface Project {
  /** the folder of the configuration */
  readonly root: string;
  /** the configured name, else the name of the nearest package, else `default` */
  readonly app: AppName;
  readonly dirs: readonly string[];
  readonly ignorePatterns: readonly string[];
  readonly profile: string | undefined;
  /** messages that one worker processes at once */
  readonly concurrency: number | undefined;
}

/** @throws CliError if there is no configuration, or it is invalid */
export async function readProject(context: ImportContext & Pick<CommandContext, 'cwd'>): Promise<Project> {
  const file = findConfigFile(context.cwd);
  const parsed = config.safeParse(await readConfigValue(context, file));
  if (!parsed.success) {
    const issues = parsed.error.issues.map(({ path, message }) => `  /${path.join('/')}: ${message}`);
    throw invalidConfig(`${file} is invalid:\n${issues.join('\n')}`);
  }
  const { app, dirs, ignorePatterns, profile, worker } = parsed.data;
  const root = dirname(file);
  return {
    root,
    app: app ?? readPackageName(root) ?? defaultApp,
    dirs,
    ignorePatterns,
    profile,
    concurrency: worker.concurrency,
  };
}

/** Like readProject, but returns undefined if there is no configuration. */
export async function findProject(context: ImportContext & Pick<CommandContext, 'cwd'>): Promise<Project | undefined> {
  try {
    return await readProject(context);
  } catch (error) {
    if (error instanceof CliError && error.code === 'no_project') return undefined;
    throw error;
  }
}

const packageShape = z.object({ name: appName });

/** The name in the nearest package.json above the folder; undefined if that file has no valid name. */
export function readPackageName(root: string): AppName | undefined {
  for (let directory = root; ; directory = dirname(directory)) {
    const file = join(directory, 'package.json');
    if (existsSync(file)) return packageNameIn(file);
    if (directory === dirname(directory)) return undefined;
  }
}

function packageNameIn(file: string): AppName | undefined {
  try {
    return packageShape.safeParse(JSON.parse(readFileSync(file, 'utf8'))).data?.name;
  } catch {
    // npm reports an invalid package.json better than this command could.
    return undefined;
  }
}

const invalidConfig = (message: string): CliError => new CliError('config_invalid', message, exitCodes.usage);

function findConfigFile(cwd: string): string {
  for (let directory = resolve(cwd); ; directory = dirname(directory)) {
    const existingPaths = configNames.map((name) => join(directory, name)).filter((path) => existsSync(path));
    const [file, second] = existingPaths;
    if (second !== undefined) throw invalidConfig(`Keep only one of ${existingPaths.join(' and ')}.`);
    if (file !== undefined) return file;
    if (directory === dirname(directory))
      throw new CliError(
        'no_project',
        `There is no ${configNames[0]} in ${cwd} or a parent folder: stepwell init creates one.`,
        exitCodes.usage,
      );
  }
}

async function readConfigValue(context: ImportContext, file: string): Promise<unknown> {
  if (extname(file) === '.json') {
    try {
      return JSON.parse(readFileSync(file, 'utf8'));
    } catch (error) {
      throw invalidConfig(`${file} cannot be read: ${messageOf(error)}.`);
    }
  }
  const imported = await importInThread(context, file, 'default');
  if ('error' in imported) throw invalidConfig(`${file} cannot be read: ${imported.error}.`);
  return imported.value;
}
