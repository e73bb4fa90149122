/** Reads `stepwell.config.json` or `stepwell.config.ts`, or says why it cannot be used. */
import { existsSync, readFileSync } from 'node:fs';
import { extname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import * as z from 'zod';
import { type ReadConfigResult, readConfig } from '../ownership/config.ts';
import { messageOf } from './describe-error.ts';

const configNames = ['stepwell.config.json', 'stepwell.config.ts'] as const;
const moduleShape = z.object({ default: z.unknown().optional() });

export interface ConfigFile {
  readonly path: string;
  readonly read: ReadConfigResult;
}

/** Reads the configuration; a .ts file is imported, and so executed. @param requestedPath default: the file in `cwd` */
export async function readConfigFile(cwd: string, requestedPath: string | undefined): Promise<ConfigFile> {
  const existingNames = configNames.filter((name) => existsSync(join(cwd, name)));
  const path = requestedPath ?? existingNames[0];
  if (path === undefined)
    return invalidConfig(configNames[0], `neither it nor ${configNames[1]} exists here: name the file with --config`);
  if (requestedPath === undefined && existingNames.length > 1)
    return invalidConfig(path, `${configNames[1]} exists too: keep only one of them`);
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
