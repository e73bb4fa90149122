/** Finds and reads the configuration. A `.ts` file is a program, and is run. */
import { existsSync, readFileSync } from 'node:fs';
import { extname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import * as z from 'zod';
import { type ReadConfigResult, readConfig } from '../../ownership/config.ts';
import { messageOf } from '../describe-error.ts';

const names = ['stepwell.config.json', 'stepwell.config.ts'] as const;
const moduleShape = z.object({ default: z.unknown().optional() });

export interface ConfigFile {
  readonly path: string;
  readonly read: ReadConfigResult;
}

/** @param requestedPath undefined: the one of this folder */
export async function readConfigFile(cwd: string, requestedPath: string | undefined): Promise<ConfigFile> {
  const existingNames = names.filter((name) => existsSync(join(cwd, name)));
  const path = requestedPath ?? existingNames[0];
  if (path === undefined) return invalidConfig(names[0], `there is none here, and no ${names[1]}: name it with --config`);
  if (requestedPath === undefined && existingNames.length > 1)
    return invalidConfig(path, `there is ${names[1]} too: only one may be there`);
  const file = resolve(cwd, path);
  try {
    return { path, read: readConfig(extname(file) === '.json' ? readJsonFile(file) : await importDefault(file)) };
  } catch (error) {
    return invalidConfig(path, `cannot be read: ${messageOf(error)}`);
  }
}

const invalidConfig = (path: string, message: string): ConfigFile => ({
  path,
  read: { kind: 'invalid', errors: [{ pointer: path, message }] },
});

const readJsonFile = (file: string): unknown => JSON.parse(readFileSync(file, 'utf8'));
const importDefault = async (file: string): Promise<unknown> => moduleShape.parse(await import(pathToFileURL(file).href)).default;
