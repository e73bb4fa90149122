/**
 * Builds the page of the console: `index.html`, and assets with a hash in their names, each compressed twice beside it. The function
 * serves them as they are, so they are compressed here.
 */
import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { type Plugin, build } from 'esbuild';

const root = fileURLToPath(new URL('..', import.meta.url));
const source = join(root, 'lib', 'console');

/** Parts of node types that a browser cannot run or does not need. The server checks what these stand-ins leave out. */
const standIns: Readonly<Record<string, string>> = {
  '../javascript/syntax.ts': 'javascript-syntax.ts',
  './syntax.ts': 'javascript-syntax.ts',
  re2js: 're2js.ts',
};

const selections = ['import { selection } from', `'d3-selection';`].join(' ');
/**
 * d3-zoom, which moves a graph, can animate the move. The console never does: a graph moves at once, and no colour changes gradually.
 * Without the two packages for that, the script is a tenth smaller.
 */
const withoutAnimation: Readonly<Record<string, string>> = {
  'd3-transition': `
    ${selections}
    selection.prototype.interrupt = function () { return this; };
    export const interrupt = () => {};`,
  'd3-color': `
    export const color = () => null;
    export { color as rgb, color as hsl, color as lab, color as hcl, color as cubehelix };`,
};

const substitutes: Plugin = {
  name: 'substitutes',
  setup(bundle) {
    bundle.onResolve({ filter: /^(?:\.\.\/javascript\/syntax\.ts|\.\/syntax\.ts|re2js)$/ }, ({ path }) => ({
      path: join(source, 'browser', standIns[path] ?? path),
    }));
    // Only the module of lenses with this name.
    bundle.onResolve({ filter: /^\.\/check\.ts$/ }, ({ importer }) =>
      dirname(importer) === join(root, 'lib', 'lens') ? { path: join(source, 'browser', 'lens-check.ts') } : undefined,
    );
    bundle.onResolve({ filter: /^d3-(?:transition|color)$/ }, ({ path }) => ({ path, namespace: 'without-animation' }));
    bundle.onLoad({ filter: /./, namespace: 'without-animation' }, ({ path }) => ({
      contents: withoutAnimation[path] ?? '',
      resolveDir: root,
    }));
  },
};

interface Asset {
  readonly name: string;
  readonly bytes: Buffer;
}

interface Bundle {
  readonly assets: readonly Asset[];
  /** names of what the page loads first: the entry, the chunks that it imports statically, and the style */
  readonly first: readonly string[];
  /** names of what a lazily loaded module adds to that */
  readonly later: (module: string) => readonly string[];
  readonly script: string;
  readonly style: string;
}

async function bundleConsole(): Promise<Bundle> {
  const { outputFiles, metafile } = await build({
    entryPoints: [{ in: join(source, 'main.tsx'), out: 'console' }],
    absWorkingDir: root,
    outdir: join(root, 'dist', 'console'),
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2024',
    jsx: 'automatic',
    minify: true,
    write: false,
    metafile: true,
    legalComments: 'none',
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    assetNames: '[name]-[hash]',
    define: { 'process.env.NODE_ENV': '"production"' },
    tsconfig: join(source, 'tsconfig.json'),
    plugins: [substitutes],
    logLevel: 'warning',
  });
  const outputs = Object.entries(metafile.outputs);
  const entry = outputs.find(([, { entryPoint }]) => entryPoint?.endsWith('console/main.tsx') === true);
  const style = entry?.[1].cssBundle;
  if (entry === undefined || style === undefined) throw new Error('the console has no entry, or the entry has no style');
  const reached = (file: string, found: Set<string>): Set<string> => {
    if (found.has(file)) return found;
    found.add(file);
    for (const { path, kind } of metafile.outputs[file]?.imports ?? []) if (kind === 'import-statement') reached(path, found);
    return found;
  };
  const first = reached(entry[0], new Set());
  const namesOf = (files: Iterable<string>): readonly string[] => [...files].map((file) => basename(file));
  return {
    assets: outputFiles.map(({ path, contents }) => ({ name: basename(path), bytes: Buffer.from(contents) })),
    first: namesOf([...first, style]),
    later: (module) => {
      const chunk = outputs.find(([, { entryPoint }]) => entryPoint?.endsWith(module) === true);
      if (chunk === undefined) throw new Error(`no chunk begins with ${module}`);
      return namesOf([...reached(chunk[0], new Set())].filter((file) => !first.has(file)));
    },
    script: basename(entry[0]),
    style: basename(style),
  };
}

interface ConsoleSizes {
  readonly script: number;
  readonly style: number;
  /** what the editor adds to the first load */
  readonly editor: number;
  /** what a field for scripts and templates adds to the editor */
  readonly codeMirror: number;
}

/** Sizes in bytes, with gzip, of what the page loads before it shows something, and of what it loads later. */
export async function measureConsole(): Promise<ConsoleSizes> {
  const { assets, first, later } = await bundleConsole();
  const sizeOf = (names: readonly string[], extension: string): number =>
    assets
      .filter(({ name }) => names.includes(name) && name.endsWith(extension))
      .reduce((sum, { bytes }) => sum + gzipSync(bytes, { level: 9 }).byteLength, 0);
  const editor = later('lib/console/editor/editor-page.tsx');
  return {
    script: sizeOf(first, '.js'),
    style: sizeOf(first, '.css'),
    editor: sizeOf(editor, '.js'),
    codeMirror: sizeOf(
      later('lib/console/editor/fields/code-mirror.tsx').filter((name) => !editor.includes(name)),
      '.js',
    ),
  };
}

/** Writes `index.html` and `assets` into a directory, and removes assets of earlier builds. */
export async function buildConsole(outdir: string): Promise<void> {
  const { assets, script, style } = await bundleConsole();
  const folder = join(outdir, 'assets');
  const written = new Set(
    assets.flatMap(({ name, bytes }) => {
      if (!existsSync(join(folder, `${name}.gz`))) {
        writeIfChanged(join(folder, name), bytes);
        writeIfChanged(join(folder, `${name}.br`), brotliCompressSync(bytes));
        writeIfChanged(join(folder, `${name}.gz`), gzipSync(bytes, { level: 9 }));
      }
      return [name, `${name}.br`, `${name}.gz`];
    }),
  );
  for (const name of readdirSync(folder)) if (!written.has(name)) rmSync(join(folder, name), { force: true });
  const page = readFileSync(join(source, 'index.html'), 'utf8')
    .replace('{{script}}', `console/assets/${script}`)
    .replace('{{style}}', `console/assets/${style}`);
  writeIfChanged(join(outdir, 'index.html'), Buffer.from(page));
}

/** Writes atomically, and only changed files: other processes can read the same files at the same time. */
function writeIfChanged(file: string, contents: Buffer): void {
  if (existsSync(file) && readFileSync(file).equals(contents)) return;
  mkdirSync(dirname(file), { recursive: true });
  const temporaryFile = `${file}.${process.pid}.new`;
  writeFileSync(temporaryFile, contents);
  renameSync(temporaryFile, file);
}
