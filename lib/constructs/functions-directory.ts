/** The default directory of the function bundles: inside the package, or the build output of a checkout. */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** `npm run build:functions` writes the second, `npm run build` the first. */
const candidates = ['../functions', '../../dist/functions'];

export function functionsDirectory(): string {
  const found = candidates
    .map((candidate) => fileURLToPath(new URL(candidate, import.meta.url)))
    .find((candidate) => existsSync(candidate));
  if (found === undefined) throw new Error('No function bundles were found. Run `npm run build:functions`.');
  return found;
}
