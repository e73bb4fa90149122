/** Bundles the functions: `functions/<name>/handler.ts` → `dist/functions/<name>/index.mjs`. */
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync } from 'node:zlib';
import { type BuildOptions, type Metafile, type Plugin, build as bundle, transform } from 'esbuild';
import { bundleThreadFile, programThreadFile } from '../lib/bundles/thread-start.ts';
import { type FunctionName, functionNames } from '../lib/contract/environment.ts';
import { buildConsole } from './build-console.ts';
import { sandboxFiles } from '../lib/nodes/sandbox/engine-files.ts';
import { partsForSome, withoutScriptedHashes, withoutSignaturesForAllRegions } from './unused-parts.ts';

const root = fileURLToPath(new URL('..', import.meta.url));

/** Default output directory, with one subdirectory per function. */
export const bundleDirectory = join(root, 'dist', 'functions');

/** ES modules have no `require`, but bundled CommonJS packages load Node's modules with it. */
const requireBanner = `import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);`;

/** Keeps only zod's English messages: its fifty languages are a fifth of a bundle. */
export const englishOnly: Plugin = {
  name: 'one-language',
  setup(bundling) {
    bundling.onLoad({ filter: /zod[\\/]v4[\\/]locales[\\/]index\.js$/ }, () => ({
      contents: `export { default as en } from './en.js';`,
    }));
  },
};

/** Thread code of the code function, which is placed beside its bundle. */
const threads: Partial<Record<FunctionName, readonly { readonly name: string; readonly source: string }[]>> = {
  worker: [sandboxFiles.thread],
  code: [bundleThreadFile, programThreadFile],
};
/** The worker's script engine, which is placed beside its bundle. */
const scriptFunction: FunctionName = 'worker';
/** The page of the console and its assets are placed beside its bundle. */
const consoleFunction: FunctionName = 'console';
const require = createRequire(import.meta.url);

/** Lambda provides credentials as environment variables. The other credential providers are a tenth of a bundle. */
const environmentCredentials: Plugin = {
  name: 'environment-credentials',
  setup(build) {
    build.onLoad({ filter: /@aws-sdk[\\/]credential-provider-node[\\/].*index\.js$/ }, ({ path }) => ({
      contents: `export { fromEnv as defaultProvider } from '@aws-sdk/credential-provider-env';`,
      resolveDir: dirname(path),
    }));
  },
};

/** Lambda provides the region as an environment variable and has no instance metadata. */
const environmentRegion: Plugin = {
  name: 'environment-region',
  setup(build) {
    build.onLoad({ filter: /regionConfig[\\/]getInstanceMetadataRegion\.js$/ }, () => ({
      contents: 'export const getInstanceMetadataRegion = async () => undefined;',
    }));
  },
};

/**
 * DynamoDB's client uses an LRU cache, its largest dependency, for endpoint discovery, which is off here. It would hold one entry for
 * the function's credentials, so a map replaces it.
 */
const mapForEndpoints: Plugin = {
  name: 'map-for-endpoints',
  setup(build) {
    build.onLoad({ filter: /mnemonist[\\/]lru-cache\.js$/ }, () => ({
      contents: 'export default class extends Map { constructor() { super(); } peek(key) { return this.get(key); } }',
    }));
  },
};

/** An AWS client reports its version to the service. The rest of its package file is 2 KB. */
const versionsOfClients: Plugin = {
  name: 'versions-of-clients',
  setup(build) {
    build.onLoad({ filter: /@aws-sdk[\\/]client-[^\\/]+[\\/]package\.json$/ }, ({ path }) => ({
      contents: `export default { version: ${JSON.stringify(versionIn(readFileSync(path, 'utf8')))} };`,
    }));
  },
};

const versionIn = (packageFile: string): unknown => JSON.parse(packageFile).version;

/**
 * The AWS clients describe each operation by a list. esbuild treats computed keys as side effects and keeps the lists of unused
 * operations. Marking the lists as pure lets it remove them.
 */
const schemasWithoutEffects: Plugin = {
  name: 'schemas-without-effects',
  setup(build) {
    build.onLoad({ filter: /@aws-sdk[\\/]client-[^\\/]+[\\/]dist-es[\\/]schemas[\\/][^\\/]+\.js$/ }, ({ path }) => ({
      contents: readFileSync(path, 'utf8').replaceAll(
        /^((?:export )?(?:var|const) \w+\$? = )(\[[^]*?\n?\]);$/gm,
        (_whole, name: string, list: string) => `${name}/* @__PURE__ */ (() => (${list}))();`,
      ),
    }));
  },
};

/** Only the OpenAPI document has the examples. Compressed, they are about a quarter as long. */
const compressedExamples: Plugin = {
  name: 'compressed-examples',
  setup(build) {
    build.onLoad({ filter: /[\\/]lib[\\/]api[\\/]examples\.json$/ }, ({ path }) => {
      const text = JSON.stringify(JSON.parse(readFileSync(path, 'utf8')));
      return {
        contents: `import { brotliDecompressSync } from 'node:zlib';
          export default JSON.parse(brotliDecompressSync(Buffer.from('${brotliCompressSync(text).toString('base64')}', 'base64')));`,
        loader: 'js',
      };
    });
  },
};

/** Name of the file beside a bundle that has the engine for regular expressions. */
const regexEngine = 're2.cjs';
const regexEngineModule = 'regex-engine';

/**
 * The engine for regular expressions is a seventh of a bundle, and few runs have a pattern. A function loads it from a file beside its
 * bundle when it compiles the first pattern.
 */
const regexEngineOnDemand: Plugin = {
  name: 'regex-engine-on-demand',
  setup(build) {
    build.onResolve({ filter: /^re2js$/ }, () => ({ path: regexEngineModule, namespace: regexEngineModule }));
    build.onResolve({ filter: new RegExp(`^\\./${regexEngine}$`) }, ({ path }) => ({ path, external: true }));
    build.onLoad({ filter: /./, namespace: regexEngineModule }, () => ({
      contents: `export const RE2JS = { compile: (pattern) => require('./${regexEngine}').RE2JS.compile(pattern) };`,
    }));
  },
};

/** Places the engine beside each bundle that can load it. */
async function writeRegexEngine(outdir: string, outputs: Metafile['outputs']): Promise<void> {
  const folders = new Set(
    Object.entries(outputs)
      .filter(([, { inputs }]) => Object.keys(inputs).includes(`${regexEngineModule}:${regexEngineModule}`))
      .map(([file]) => basename(dirname(file))),
  );
  const source = readFileSync(require.resolve('re2js'), 'utf8');
  const { code } = await transform(source, { format: 'cjs', minify: true, target: bundling.target, legalComments: 'none' });
  for (const folder of folders) writeIfChanged(join(outdir, folder, regexEngine), Buffer.from(code));
}

const pluginsOfFunctions = [
  regexEngineOnDemand,
  compressedExamples,
  englishOnly,
  environmentCredentials,
  environmentRegion,
  mapForEndpoints,
  versionsOfClients,
  schemasWithoutEffects,
  withoutScriptedHashes,
  withoutSignaturesForAllRegions,
];

/** The functions in groups that use the same parts of packages. esbuild bundles a group in one call. */
function functionsByParts(names: readonly FunctionName[]) {
  const groups = Map.groupBy(names, (name) => partsForSome.map(({ usedBy }) => usedBy.includes(name)).join());
  return [...groups.values()].map((members) => ({
    members,
    without: partsForSome.filter(({ usedBy }) => !members.some((name) => usedBy.includes(name))).map(({ without }) => without),
  }));
}

const bundling = {
  write: false,
  outExtension: { '.js': '.mjs' },
  bundle: true,
  format: 'esm',
  platform: 'node',
  // Without a target, esbuild emits Uint8Array.fromBase64 for .wasm files, which Node 24 does not support.
  target: 'node24',
  mainFields: ['module', 'main'],
  loader: { '.wasm': 'binary' },
  banner: { js: requireBanner },
  minify: true,
  legalComments: 'none',
  logLevel: 'warning',
} as const satisfies BuildOptions;

/** The worker program of the package, for `stepwell worker start`. It includes all credential providers, because it runs anywhere. */
export async function buildWorker(outdir: string): Promise<void> {
  const { outputFiles } = await bundle({
    ...bundling,
    plugins: [englishOnly],
    entryPoints: [
      { in: join(root, 'functions/code/process.ts'), out: 'index' },
      ...(threads.code ?? []).map(({ name, source }) => ({ in: join(root, source), out: basename(name, '.mjs') })),
    ],
    outdir,
  });
  for (const { path, contents } of outputFiles) writeIfChanged(path, contents);
}

export interface Bundle {
  readonly name: FunctionName;
  readonly file: string;
  readonly bytes: number;
}

/** The functions that have a handler, in the order of the contract. */
function functionsWithHandler(sources = join(root, 'functions')): readonly FunctionName[] {
  return functionNames.filter((name) => existsSync(join(sources, name, 'handler.ts')));
}

/**
 * Bundles every function and removes the bundles of deleted functions, because every bundle in the directory is deployed. Throws
 * esbuild's error if a handler does not compile.
 */
export async function buildFunctions(
  options: {
    readonly sources?: string;
    readonly outdir?: string;
    /** Default: true. */
    readonly maps?: boolean;
    /** Additional esbuild plugins: tests use them to build bundles of another version. */
    readonly plugins?: readonly Plugin[];
  } = {},
): Promise<readonly Bundle[]> {
  const sources = options.sources ?? join(root, 'functions');
  const outdir = options.outdir ?? bundleDirectory;
  const names = functionsWithHandler(sources);
  for (const name of functionNames) if (!names.includes(name)) rmSync(join(outdir, name), { recursive: true, force: true });
  if (names.length === 0) return [];
  const entryPointsOf = (name: FunctionName) => [
    { in: join(sources, name, 'handler.ts'), out: join(name, 'index') },
    ...(threads[name] ?? []).map((thread) => ({
      in: join(root, thread.source),
      out: join(name, basename(thread.name, '.mjs')),
    })),
  ];
  const bundled = await Promise.all(
    functionsByParts(names).map(({ members, without }) =>
      bundle({
        ...bundling,
        plugins: [...(options.plugins ?? []), ...pluginsOfFunctions, ...without],
        entryPoints: members.flatMap(entryPointsOf),
        outdir,
        metafile: true,
        // Source maps are placed beside the bundle and excluded from the asset, to keep cold starts short.
        sourcemap: options.maps === false ? false : 'external',
      }),
    ),
  );
  for (const { path, contents } of bundled.flatMap(({ outputFiles }) => outputFiles)) writeIfChanged(path, contents);
  await writeRegexEngine(outdir, Object.assign({}, ...bundled.map(({ metafile }) => metafile.outputs)));
  if (names.includes(scriptFunction)) {
    const engine = readFileSync(require.resolve(sandboxFiles.engine.source));
    writeIfChanged(join(outdir, scriptFunction, sandboxFiles.engine.name), engine);
  }
  if (names.includes(consoleFunction)) await buildConsole(join(outdir, consoleFunction));
  return names.map((name) => {
    const file = join(outdir, name, 'index.mjs');
    return { name, file, bytes: statSync(file).size };
  });
}

/** Writes atomically, and only changed files: other processes can read the same bundles at the same time. */
function writeIfChanged(file: string, contents: Uint8Array): void {
  if (existsSync(file) && readFileSync(file).equals(contents)) return;
  mkdirSync(dirname(file), { recursive: true });
  const temporaryFile = `${file}.${process.pid}.new`;
  writeFileSync(temporaryFile, contents);
  renameSync(temporaryFile, file);
}

async function main() {
  for (const bundle of await buildFunctions()) {
    console.log(`${bundle.name.padEnd(12)} ${String(Math.ceil(bundle.bytes / 1024)).padStart(6)} KB`);
  }
}

if (process.argv[1] !== undefined && basename(process.argv[1]) === 'build-functions.ts') await main();
