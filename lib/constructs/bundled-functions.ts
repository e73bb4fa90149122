/** The directory of the function bundles. */
import { type FunctionName, functionNames } from '../contract/environment.ts';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { join } from 'node:path';

/** `npm run build:functions` writes the second, `npm run build` the first. */
const candidates = ['../functions', '../../dist/functions'];

export function functionsDirectory(): string {
  const found = candidates
    .map((candidate) => fileURLToPath(new URL(candidate, import.meta.url)))
    .find((candidate) => existsSync(candidate));
  if (found === undefined) throw new Error('No function bundles were found. Run `npm run build:functions`.');
  return found;
}

/** The functions that a directory of bundles contains: those with `<directory>/<name>/index.mjs`. */
export function bundledFunctions(directory: string): readonly FunctionName[] {
  return functionNames.filter((name) => existsSync(join(directory, name, 'index.mjs')));
}
