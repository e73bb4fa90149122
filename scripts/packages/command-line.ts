/**
 * `stepwell-cli`: the command line with the embedded cloud. Its programs are bundled, so an installation brings no package beside
 * them, except for binaries. Each file of `lib` that is found by its URL keeps its path in the package.
 */
import { copyFileSync, globSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, relative } from 'node:path';
import { type BuildOptions, type Plugin, build as bundle } from 'esbuild';
import { buildFunctions, buildWorker, englishOnly } from '../build-functions.ts';
import { root, writeManifest } from './manifest.ts';

const require = createRequire(import.meta.url);

/** Imports of these packages stay: one is a binary, one is the fallback for machines without dynoxide. */
const external = ['esbuild', 'dynalite', '@dynoxide/linux-x64'];

const packageModule = 'stepwell:package';

/**
 * `import.meta.url` of a bundled module would be that of its chunk. It becomes the path that the module would have in the package:
 * `local/lambda/thread.js`. URLs of other modules end in `.js`.
 */
const packagePaths: Plugin = {
  name: 'package-paths',
  setup(build) {
    build.onResolve({ filter: /^stepwell:package$/ }, () => ({ path: packageModule, namespace: packageModule }));
    build.onLoad({ filter: /.*/, namespace: packageModule }, () => ({
      contents: `import { existsSync } from 'node:fs';
let folder = new URL('.', import.meta.url);
while (!existsSync(new URL('package.json', folder))) folder = new URL('..', folder);
export const packageUrl = (path) => new URL(path, folder).href;`,
      resolveDir: root,
    }));
    build.onLoad({ filter: /[\\/](lib|bin)[\\/].*\.ts$/ }, ({ path }) => {
      const text = readFileSync(path, 'utf8');
      const own = relative(join(root, 'lib'), path);
      if (own.startsWith('..') || !text.includes('import.meta.')) return { contents: text, loader: 'ts' };
      const url = `packageUrl('${own.replace(/\.ts$/, '.js')}')`;
      const contents = text
        .replaceAll(".ts', import.meta.url", ".js', import.meta.url")
        .split('\n')
        // The banner is text for another bundle.
        .map((line) => (line.startsWith('const requireBanner') ? line : line.replaceAll('import.meta.url', url)))
        .join('\n');
      return { contents: `import { packageUrl } from '${packageModule}';\n${contents}`, loader: 'ts' };
    });
  },
};

/** fauxqs exports only its server. Its other modules are found by their paths, which a bundle must contain. */
const bundledEmulator: Plugin = {
  name: 'bundled-emulator',
  setup(build) {
    build.onLoad({ filter: /[\\/]emulator-modules\.ts$/ }, () => {
      const folder = join(root, 'node_modules', 'fauxqs', 'dist');
      const files = globSync(['sqs/sqsStore.js', 'sns/snsStore.js', 's3/s3Store.js', 'persistence.js', 'sqs/actions/*.js'], {
        cwd: folder,
      });
      const entries = files.map((file) => `${JSON.stringify(file)}: () => import(${JSON.stringify(join(folder, file))}),`);
      return {
        contents: `const files = {\n${entries.join('\n')}\n};\nexport const loadEmulatorModule = (file) => files[file]();`,
        resolveDir: folder,
      };
    });
  },
};

const common = {
  bundle: true,
  format: 'esm',
  platform: 'node',
  target: 'node24',
  mainFields: ['module', 'main'],
  minifySyntax: true,
  minifyWhitespace: true,
  legalComments: 'none',
  logLevel: 'warning',
  absWorkingDir: root,
  banner: {
    js: `import { createRequire as createRequire__ } from 'node:module'; const require = createRequire__(import.meta.url); const __filename = import.meta.filename; const __dirname = import.meta.dirname;`,
  },
} as const satisfies BuildOptions;

/** Programs, threads and processes of their own, and the modules that a project's code imports where it has not installed `stepwell`. */
const entryPoints = [
  'cli/main',
  'cli/project/import-thread',
  'local/main',
  'local/lambda/runtime',
  'local/clock/shifted-clock',
  'local/emulators/dynalite-process',
  'sdk/index',
  'openworkflow/index',
];

async function buildPrograms(folder: string): Promise<void> {
  await bundle({
    ...common,
    entryPoints: entryPoints.map((path) => ({ in: join(root, 'lib', `${path}.ts`), out: path })),
    outdir: folder,
    splitting: true,
    chunkNames: 'chunks/[name]-[hash]',
    external,
    plugins: [bundledEmulator, packagePaths, englishOnly],
  });
}

/** The CDK with the core alone: the package's main module would bring the constructs of every service. */
const coreOnly: Plugin = {
  name: 'core-only',
  setup(build) {
    build.onResolve({ filter: /^aws-cdk-lib$/ }, () => ({ path: require.resolve('aws-cdk-lib/core') }));
  },
};

/** The app that synthesizes the template of the embedded cloud. It contains the CDK. */
async function buildApp(folder: string): Promise<void> {
  await bundle({
    ...common,
    entryPoints: [{ in: join(root, 'bin', 'cloud-app.ts'), out: 'cloud-app' }],
    outdir: folder,
    outExtension: { '.js': '.mjs' },
    minifyIdentifiers: false,
    plugins: [coreOnly, packagePaths, englishOnly],
  });
  copyFileSync(join(root, 'cdk.json'), join(folder, 'cdk.json'));
}

export async function buildCommandLine(folder: string): Promise<void> {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(join(folder, 'bin'), { recursive: true });
  await buildPrograms(folder);
  await buildApp(folder);
  await buildFunctions({ outdir: join(folder, 'functions'), maps: false });
  await buildWorker(join(folder, 'worker'));
  copyFileSync(join(root, 'bin', 'stepwell-package.mjs'), join(folder, 'bin', 'stepwell.mjs'));
  writeManifest(folder, {
    name: 'stepwell-cli',
    description: 'Durable workflows in your own AWS account: the command line and the embedded cloud',
    readme: 'stepwell-cli.md',
    bin: { stepwell: 'bin/stepwell.mjs', 'stepwell-cli': 'bin/stepwell.mjs' },
    dependencies: ['dynalite', 'esbuild'],
    optionalDependencies: ['@dynoxide/linux-x64'],
  });
}
