/** The version of the package that this command line belongs to. `--help` loads this file, so it imports no schemas. */
import { existsSync, readFileSync } from 'node:fs';

/** Reads the nearest package.json above this file: the repository's, or the published package's. */
export function readVersion(): string {
  for (let directory = new URL('./', import.meta.url); ; directory = new URL('../', directory)) {
    const file = new URL('package.json', directory);
    if (existsSync(file)) return versionIn(JSON.parse(readFileSync(file, 'utf8')));
    if (directory.pathname === '/')
      throw new Error('There is no package.json above the command line. Install the package again.');
  }
}

function versionIn(manifest: unknown): string {
  if (typeof manifest === 'object' && manifest !== null && 'version' in manifest && typeof manifest.version === 'string')
    return manifest.version;
  throw new Error('The package.json of the command line has no version. Install the package again.');
}
