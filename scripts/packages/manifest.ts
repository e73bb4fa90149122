/** The manifests of the published packages. Their versions and those of all dependencies are the repository's. */
import { copyFileSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as z from 'zod';
import { defined } from '../../lib/base/defined.ts';

export const root = fileURLToPath(new URL('../..', import.meta.url));

const versions = z.record(z.string(), z.string());
const projectShape = z.object({
  version: z.string(),
  license: z.string(),
  dependencies: versions,
  devDependencies: versions,
  optionalDependencies: versions,
});
const project = projectShape.parse(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')));

/** The minimum Node version of every package. */
const engines = { node: '>=20' };

export interface Package {
  readonly name: string;
  readonly description: string;
  /** the package's page, in docs/packages */
  readonly readme: string;
  readonly bin?: Readonly<Record<string, string>>;
  /** module folder by export, such as `./sdk` */
  readonly exports?: Readonly<Record<string, string>>;
  /** those of the exports that also have a build for `require`, in `index.cjs` */
  readonly commonJs?: readonly string[];
  readonly dependencies: readonly string[];
  readonly optionalDependencies?: readonly string[];
  readonly peerDependencies?: readonly string[];
  /** peers that only some exports need */
  readonly optionalPeers?: readonly string[];
}

function versionsOf(names: readonly string[], range: (version: string) => string): Readonly<Record<string, string>> | undefined {
  if (names.length === 0) return undefined;
  const known = { ...project.devDependencies, ...project.dependencies, ...project.optionalDependencies };
  return Object.fromEntries(
    names.toSorted().map((name) => {
      const version = known[name];
      if (version === undefined) throw new Error(`The repository's package.json has no version of ${name}`);
      return [name, range(version)];
    }),
  );
}

/** Writes package.json, README.md and LICENSE. */
export function writeManifest(folder: string, contents: Package): void {
  const { name, description, readme, bin, exports = {}, commonJs = [], optionalPeers = [] } = contents;
  const entries = Object.entries(exports).map(([entryPoint, module]) => {
    const esModule = { types: `./${module}/index.d.ts`, default: `./${module}/index.js` };
    if (!commonJs.includes(entryPoint)) return [entryPoint, esModule];
    return [entryPoint, { import: esModule, require: { types: `./${module}/index.d.cts`, default: `./${module}/index.cjs` } }];
  });
  const manifest = defined({
    name,
    version: project.version,
    description,
    license: project.license,
    type: 'module',
    engines,
    bin,
    // For tools that do not read `exports`.
    ...(exports['.'] === undefined ? {} : { main: `./${exports['.']}/index.js`, types: `./${exports['.']}/index.d.ts` }),
    exports: { ...Object.fromEntries(entries), './package.json': './package.json' },
    dependencies: versionsOf(contents.dependencies, (version) => version),
    optionalDependencies: versionsOf(contents.optionalDependencies ?? [], (version) => version),
    peerDependencies: versionsOf([...(contents.peerDependencies ?? []), ...optionalPeers], (version) => `^${version}`),
    peerDependenciesMeta:
      optionalPeers.length === 0 ? undefined : Object.fromEntries(optionalPeers.map((peer) => [peer, { optional: true }])),
  });
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  copyFileSync(join(root, 'docs', 'packages', readme), join(folder, 'README.md'));
  copyFileSync(join(root, 'LICENSE'), join(folder, 'LICENSE'));
}

/** Packages that the files of the folder import: statically, dynamically or as types. */
export function packagesIn(folder: string): readonly string[] {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => /\.(js|d\.ts)$/.test(file));
  const names = files
    .flatMap((file) => [...readFileSync(join(folder, file), 'utf8').matchAll(/(?:\bfrom|\bimport) ?\(?['"]([^'".][^'"]*)['"]/g)])
    .map(([, name = '']) => (name.startsWith('@') ? name.split('/').slice(0, 2).join('/') : (name.split('/')[0] ?? '')));
  // Text in quotes can look like an import, so only the repository's own dependencies count.
  return [...new Set(names)].filter((name) => Object.hasOwn(project.dependencies, name));
}
