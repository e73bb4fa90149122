/** A digest over all inputs of a synthesis: equal digests mean equal templates and bundles. */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';

const sourcePaths = ['lib', 'functions', 'bin', 'scripts', 'package-lock.json', 'cdk.json', 'tsconfig.json'] as const;

function files(path: string): readonly string[] {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return [];
  if (!stat.isDirectory()) return [path];
  return readdirSync(path)
    .toSorted()
    .flatMap((name) => files(join(path, name)));
}

export function digestSources(root: string, paths: readonly string[] = sourcePaths): string {
  const hash = createHash('sha256');
  for (const path of paths) {
    for (const file of files(join(root, path))) {
      const content = readFileSync(file);
      hash.update(`${relative(root, file)}\0${content.length}\0`).update(content);
    }
  }
  return hash.digest('hex');
}
