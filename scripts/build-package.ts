/**
 * `npm run build:package [folder]`: the package `stepwell` for applications, in dist/package unless told otherwise. It has two
 * doors, `stepwell/client` and `stepwell/app-host`, as JavaScript with types, and asks for no package that they do not use.
 */
import { execFileSync } from 'node:child_process';
import { copyFileSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as z from 'zod';

const root = fileURLToPath(new URL('..', import.meta.url));
const doors = ['client', 'app-host'] as const;
/** What the product is built from; a package that the doors use has its version from here. */
const projectShape = z.object({
  name: z.string(),
  version: z.string(),
  description: z.string(),
  license: z.string(),
  dependencies: z.record(z.string(), z.string()),
});
/** The oldest Node that the doors run on. */
const engines = { node: '>=20' };

/** @throws where the compiler finds a fault, which it has printed by then */
export function buildPackage(target: string): void {
  rmSync(target, { recursive: true, force: true });
  const compiler = createRequire(import.meta.url)
    .resolve('typescript/package.json')
    .replace(/package\.json$/, 'bin/tsc');
  execFileSync(process.execPath, [compiler, '-p', join(root, 'tsconfig.package.json'), '--outDir', target], { stdio: 'inherit' });
  const { dependencies, ...described } = projectShape.parse(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')));
  const used = packagesIn(target);
  const manifest = {
    ...described,
    type: 'module',
    engines,
    exports: Object.fromEntries(
      doors.map((door) => [`./${door}`, { types: `./${door}/index.d.ts`, default: `./${door}/index.js` }]),
    ),
    dependencies: Object.fromEntries(Object.entries(dependencies).filter(([name]) => used.has(name))),
  };
  writeFileSync(join(target, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  for (const file of ['LICENSE', 'docs/CLIENT.md'])
    copyFileSync(join(root, file), join(target, file.replace('docs/CLIENT', 'README')));
}

/** Packages that some file of the folder imports, as code or as a type. */
function packagesIn(folder: string): ReadonlySet<string> {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => /\.(js|d\.ts)$/.test(file));
  const imported = files.flatMap((file) => [
    ...readFileSync(join(folder, file), 'utf8').matchAll(/from ['"]([^'".][^'"]*)['"]/g),
  ]);
  return new Set(
    imported.map(([, name = '']) => (name.startsWith('@') ? name.split('/').slice(0, 2).join('/') : (name.split('/')[0] ?? ''))),
  );
}

if (import.meta.main) {
  const [folder = join(root, 'dist', 'package'), ...more] = process.argv.slice(2);
  if (more.length > 0) {
    console.error('usage: npm run build:package -- [folder]');
    process.exit(2);
  }
  buildPackage(folder);
  console.log(`${folder}: ${doors.map((door) => `stepwell/${door}`).join(', ')}`);
}
