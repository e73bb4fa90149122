/**
 * `npm run build`: builds the package `stepwell` (default: dist/package) as JavaScript with types. It contains the construct with the
 * function bundles, the SDK, the test runner, the client, the application guard, the openworkflow API and the command line with its
 * worker. The package depends only on packages that these use.
 */
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as z from 'zod';
import { buildFunctions, buildWorker } from './build-functions.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
/** The package's exports and their modules. */
const entryPoints = {
  '.': 'constructs',
  './sdk': 'sdk',
  './testing': 'testing',
  './client': 'client',
  './app-host': 'app-host',
  './openworkflow': 'openworkflow',
  './openworkflow/backend': 'openworkflow/backend',
} as const;
/** Peer dependencies: an application must not have two copies of a construct library. */
const peers = ['aws-cdk-lib', 'constructs'] as const;
/** The versions of all dependencies; the package's dependencies take theirs from here. */
const projectShape = z.object({
  name: z.string(),
  version: z.string(),
  description: z.string(),
  license: z.string(),
  dependencies: z.record(z.string(), z.string()),
});
/** The minimum Node version of the exports. */
const engines = { node: '>=20' };
const commandFile = 'bin/stepwell.mjs';
/** The minimum Node version of the command line, which loads TypeScript without a build. */
const command = `#!/usr/bin/env node
const minNodeMajor = 24;
if (Number(process.versions.node.split('.')[0]) < minNodeMajor) {
  console.error(\`stepwell needs Node \${minNodeMajor} or newer, but this is Node \${process.versions.node}\`);
  process.exit(1);
}
await import('../cli/main.js');
`;

/** @throws if the compiler reports an error, which it prints first */
export async function buildPackage(target: string): Promise<void> {
  rmSync(target, { recursive: true, force: true });
  const compiler = createRequire(import.meta.url)
    .resolve('typescript/package.json')
    .replace(/package\.json$/, 'bin/tsc');
  execFileSync(process.execPath, [compiler, '-p', join(root, 'tsconfig.package.json'), '--outDir', target], { stdio: 'inherit' });
  const { dependencies, ...manifestFields } = projectShape.parse(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')));
  const used = packagesIn(target);
  await buildFunctions({ outdir: join(target, 'functions'), maps: false });
  await buildWorker(join(target, 'worker'));
  mkdirSync(join(target, 'bin'));
  writeFileSync(join(target, commandFile), command);
  const versionsOf = (isIncluded: (name: string) => boolean) =>
    Object.fromEntries(Object.entries(dependencies).filter(([name]) => isIncluded(name)));
  const manifest = {
    ...manifestFields,
    type: 'module',
    engines,
    bin: { stepwell: commandFile },
    exports: Object.fromEntries(
      Object.entries(entryPoints).map(([entryPoint, moduleFolder]) => [
        entryPoint,
        { types: `./${moduleFolder}/index.d.ts`, default: `./${moduleFolder}/index.js` },
      ]),
    ),
    dependencies: versionsOf((name) => used.has(name) && !isPeer(name)),
    peerDependencies: Object.fromEntries(Object.keys(versionsOf(isPeer)).map((name) => [name, `^${dependencies[name]}`])),
    // Optional, because the client and the SDK need none of them.
    peerDependenciesMeta: Object.fromEntries(peers.map((name) => [name, { optional: true }])),
  };
  writeFileSync(join(target, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  for (const file of ['LICENSE', 'docs/CLIENT.md'])
    copyFileSync(join(root, file), join(target, file.replace('docs/CLIENT', 'README')));
}

const isPeer = (name: string): boolean => peers.some((peer) => peer === name);

/** Packages that the files of the directory import: statically, dynamically or as types. */
function packagesIn(folder: string): ReadonlySet<string> {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => /\.(js|d\.ts)$/.test(file));
  const imported = files.flatMap((file) => [
    ...readFileSync(join(folder, file), 'utf8').matchAll(/(?:\bfrom|\bimport) ?\(?['"]([^'".][^'"]*)['"]/g),
  ]);
  return new Set(
    imported.map(([, name = '']) => (name.startsWith('@') ? name.split('/').slice(0, 2).join('/') : (name.split('/')[0] ?? ''))),
  );
}

// bin/check-node.mjs imports this file, so it is not the main module.
if (process.argv[1] !== undefined && basename(process.argv[1]) === 'build-package.ts') {
  const [folder = join(root, 'dist', 'package'), ...more] = process.argv.slice(2);
  if (more.length > 0) {
    console.error('usage: npm run build -- [folder]');
    process.exit(2);
  }
  await buildPackage(folder);
  console.log(
    `${folder}: ${Object.keys(entryPoints)
      .map((entryPoint) => entryPoint.replace('.', 'stepwell'))
      .join(', ')}`,
  );
}
