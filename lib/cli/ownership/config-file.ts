/** Finds and reads the configuration. A `.ts` file is a program, and is run. */
import { existsSync, readFileSync } from 'node:fs';
import { extname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import * as z from 'zod';
import { type ReadConfig, readConfig } from '../../ownership/config.ts';
import { messageOf } from '../fault-of.ts';

const names = ['stepwell.config.json', 'stepwell.config.ts'] as const;
const moduleShape = z.object({ default: z.unknown().optional() });

export interface FoundConfig {
  readonly path: string;
  readonly read: ReadConfig;
}

/** @param wanted undefined: the one of this folder */
export async function configIn(cwd: string, wanted: string | undefined): Promise<FoundConfig> {
  const here = names.filter((name) => existsSync(join(cwd, name)));
  const path = wanted ?? here[0];
  if (path === undefined) return failed(names[0], `there is none here, and no ${names[1]}: name it with --config`);
  if (wanted === undefined && here.length > 1) return failed(path, `there is ${names[1]} too: only one may be there`);
  const file = resolve(cwd, path);
  try {
    return { path, read: readConfig(extname(file) === '.json' ? jsonOf(file) : await exportOf(file)) };
  } catch (trouble) {
    return failed(path, `cannot be read: ${messageOf(trouble)}`);
  }
}

const failed = (path: string, message: string): FoundConfig => ({
  path,
  read: { kind: 'invalid', faults: [{ place: path, message }] },
});

const jsonOf = (file: string): unknown => JSON.parse(readFileSync(file, 'utf8'));
const exportOf = async (file: string): Promise<unknown> => moduleShape.parse(await import(pathToFileURL(file).href)).default;
