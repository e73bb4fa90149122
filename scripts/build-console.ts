/**
 * Builds the page of the console: `index.html`, and assets with a hash in their names, each compressed twice beside it. The function
 * serves them as they are, so they are compressed here.
 */
import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { build } from 'esbuild';

const root = fileURLToPath(new URL('..', import.meta.url));
const source = join(root, 'lib', 'console');

interface Asset {
  readonly name: string;
  readonly bytes: Buffer;
}

interface Bundle {
  readonly assets: readonly Asset[];
  /** names of what the page loads first: the entry, the chunks that it imports statically, and the style */
  readonly first: readonly string[];
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
    logLevel: 'warning',
  });
  const outputs = Object.entries(metafile.outputs);
  const entry = outputs.find(([, { entryPoint }]) => entryPoint?.endsWith('console/main.tsx') === true);
  const style = entry?.[1].cssBundle;
  if (entry === undefined || style === undefined) throw new Error('the console has no entry, or the entry has no style');
  const first = new Set<string>();
  const add = (file: string): void => {
    if (first.has(file)) return;
    first.add(file);
    for (const { path, kind } of metafile.outputs[file]?.imports ?? []) if (kind === 'import-statement') add(path);
  };
  add(entry[0]);
  return {
    assets: outputFiles.map(({ path, contents }) => ({ name: basename(path), bytes: Buffer.from(contents) })),
    first: [...first, style].map((file) => basename(file)),
    script: basename(entry[0]),
    style: basename(style),
  };
}

/** Sizes in bytes, with gzip, of what the page loads before it shows something. */
export async function measureConsole(): Promise<{ readonly script: number; readonly style: number }> {
  const { assets, first } = await bundleConsole();
  const sizeOf = (extension: string): number =>
    assets
      .filter(({ name }) => first.includes(name) && name.endsWith(extension))
      .reduce((sum, { bytes }) => sum + gzipSync(bytes, { level: 9 }).byteLength, 0);
  return { script: sizeOf('.js'), style: sizeOf('.css') };
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
