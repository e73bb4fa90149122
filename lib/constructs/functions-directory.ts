/** Where the functions' bundles lie unless told otherwise: beside the package's own code, or where a checkout builds them. */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** In a checkout `npm run build:functions` writes them; in the package `npm run build` put them there. */
const candidates = ['../functions', '../../dist/functions'];

export function functionsDirectory(): string {
  const found = candidates
    .map((candidate) => fileURLToPath(new URL(candidate, import.meta.url)))
    .find((candidate) => existsSync(candidate));
  if (found === undefined) throw new Error('there are no bundles of functions: run `npm run build:functions`');
  return found;
}
