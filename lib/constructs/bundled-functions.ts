import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type FunctionName, functionNames } from '../contract/environment.ts';

/** The functions that a directory of bundles contains: those with `<directory>/<name>/index.mjs`. */
export function bundledFunctions(directory: string): readonly FunctionName[] {
  return functionNames.filter((name) => existsSync(join(directory, name, 'index.mjs')));
}
