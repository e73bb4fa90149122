/** `stepwell` and `stepwell-cdk`: libraries, compiled to JavaScript with types. */
import { execFileSync } from 'node:child_process';
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { build } from 'esbuild';
import { buildFunctions } from '../build-functions.ts';
import { packagesIn, root, writeManifest } from './manifest.ts';

/** @throws if the compiler reports an error, which it prints first */
function compile(project: string, folder: string): void {
  rmSync(folder, { recursive: true, force: true });
  const compiler = createRequire(import.meta.url)
    .resolve('typescript/package.json')
    .replace(/package\.json$/, 'bin/tsc');
  execFileSync(process.execPath, [compiler, '-p', join(root, project), '--outDir', folder], { stdio: 'inherit' });
}

/** The import path from one file of a package to another. */
const importPath = (from: string, to: string): string => relative(dirname(from), to).replace(/^(?!\.)/, './');

/** Changes the compiled files of a package. */
function rewrite(folder: string, change: (text: string, path: string) => string): void {
  for (const file of globSync('**/*.js', { cwd: folder })) {
    const path = join(folder, file);
    const text = readFileSync(path, 'utf8');
    const changed = change(text, path);
    if (changed !== text) writeFileSync(path, changed);
  }
}

/** Brings a package's code in the package itself: the published canonicalize refuses Node 20 in its `engines`. */
async function vendor(folder: string, name: string): Promise<void> {
  const target = join(folder, 'vendor', `${name}.js`);
  await build({
    stdin: { contents: `export { default } from '${name}';`, resolveDir: root },
    outfile: target,
    bundle: true,
    format: 'esm',
    logLevel: 'warning',
  });
  rewrite(folder, (text, path) => text.replaceAll(`from '${name}'`, `from '${importPath(path, target)}'`));
}

/** Functions that Node 20 does not have. A compiled file that calls one imports its definition. */
const missingOnNode20 = {
  'Promise.withResolvers': `Promise.withResolvers ??= function () {
  const resolvers = {};
  resolvers.promise = new this((resolve, reject) => Object.assign(resolvers, { resolve, reject }));
  return resolvers;
};`,
  'Map.groupBy': `Map.groupBy ??= (items, keyOf) => {
  const groups = new Map();
  let index = 0;
  for (const item of items) {
    const key = keyOf(item, index++);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  }
  return groups;
};`,
} as const;

function supportNode20(folder: string): void {
  const target = join(folder, 'vendor', 'node-20.js');
  mkdirSync(dirname(target), { recursive: true });
  const names = Object.keys(missingOnNode20);
  rewrite(folder, (text, path) =>
    names.some((name) => text.includes(`${name}(`)) ? `import '${importPath(path, target)}';\n${text}` : text,
  );
  writeFileSync(target, `${Object.values(missingOnNode20).join('\n')}\n`);
}

/** Only `stepwell/openworkflow/backend` needs it, and it is larger than the rest of the package. */
const tableClient = '@aws-sdk/client-dynamodb';

/**
 * `npx stepwell` in a project runs the command line if it is installed. A package that an application installs to start runs must
 * not bring the embedded cloud, so the command line is a package of its own.
 */
const launcher = `#!/usr/bin/env node
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

function find() {
  for (const from of [join(process.cwd(), 'package.json'), import.meta.url]) {
    try {
      return createRequire(from).resolve('stepwell-cli/package.json');
    } catch {}
  }
  return undefined;
}

const found = find();
if (found === undefined) {
  console.error('The command line is the package stepwell-cli, which is not installed here.');
  console.error('Install it:         npm install --save-dev stepwell-cli');
  console.error('Or run it at once:  npx stepwell-cli ' + process.argv.slice(2).join(' '));
  process.exitCode = 1;
} else {
  await import(new URL('bin/stepwell.mjs', pathToFileURL(found)).href);
}
`;

/**
 * Version 4 of the Workflow DevKit loads its World with `require`, which cannot load an ES module on every Node 20. So the World has a
 * build of its own for it, and types that pass on those of the ES module.
 */
async function buildCommonJsWorld(folder: string): Promise<void> {
  await build({
    entryPoints: [join(folder, 'world', 'index.js')],
    outfile: join(folder, 'world', 'index.cjs'),
    bundle: true,
    packages: 'external',
    platform: 'node',
    target: 'node20',
    format: 'cjs',
    logLevel: 'warning',
  });
  const types = `import type { World } from './index.js' with { 'resolution-mode': 'import' };
export type { World };
export declare function createWorld(): World;
`;
  writeFileSync(join(folder, 'world', 'index.d.cts'), types);
}

/** What an application and the author of workflows import. */
export async function buildLibrary(folder: string): Promise<void> {
  compile('tsconfig.package.json', folder);
  await vendor(folder, 'canonicalize');
  supportNode20(folder);
  await buildCommonJsWorld(folder);
  mkdirSync(join(folder, 'bin'));
  writeFileSync(join(folder, 'bin', 'stepwell.mjs'), launcher);
  writeManifest(folder, {
    name: 'stepwell',
    description: 'Durable workflows in your own AWS account: SDK, client and tests',
    readme: 'stepwell.md',
    bin: { stepwell: 'bin/stepwell.mjs' },
    exports: {
      './sdk': 'sdk',
      './client': 'client',
      './testing': 'testing',
      './app-host': 'app-host',
      './openworkflow': 'openworkflow',
      './openworkflow/backend': 'openworkflow/backend',
      './world': 'world',
    },
    commonJs: ['./world'],
    dependencies: packagesIn(folder).filter((name) => name !== tableClient),
    optionalPeers: [tableClient],
  });
}

const cdkPeers = ['aws-cdk-lib', 'constructs'];

/** The construct, with the bundles of the functions. */
export async function buildConstruct(folder: string): Promise<void> {
  compile('tsconfig.construct-package.json', folder);
  supportNode20(folder);
  const dependencies = packagesIn(folder).filter((name) => !cdkPeers.includes(name));
  await buildFunctions({ outdir: join(folder, 'functions'), maps: false });
  writeManifest(folder, {
    name: 'stepwell-cdk',
    description: 'Durable workflows in your own AWS account: the AWS CDK construct',
    readme: 'stepwell-cdk.md',
    exports: { '.': 'constructs' },
    dependencies,
    peerDependencies: cdkPeers,
  });
}
