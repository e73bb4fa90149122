/**
 * Builds the page of the console: `index.html`, and files with a hash in their names, each compressed twice beside it. The API serves them
 * as they are, so they are compressed here.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { type OutputFile, build } from 'esbuild';

const root = fileURLToPath(new URL('..', import.meta.url));
const source = join(root, 'lib', 'console');
const folderOfAssets = 'assets';

/** @param outdir gets `index.html` and the folder `assets` */
export async function buildConsole(outdir: string): Promise<void> {
  const { outputFiles, metafile } = await build({
    entryPoints: [{ in: join(source, 'main.tsx'), out: 'console' }],
    outdir: join(outdir, folderOfAssets),
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
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
  const [entry] = Object.entries(metafile.outputs).filter(([, { entryPoint }]) => entryPoint?.endsWith('main.tsx') === true);
  if (entry === undefined) throw new Error('the console has no entry');
  const [script, { cssBundle }] = entry;
  const page = readFileSync(join(source, 'index.html'), 'utf8')
    .replace('{{script}}', `console/${folderOfAssets}/${basename(script)}`)
    .replace('{{stylesheet}}', `console/${folderOfAssets}/${basename(cssBundle ?? '')}`);
  rmSync(join(outdir, folderOfAssets), { recursive: true, force: true });
  mkdirSync(join(outdir, folderOfAssets), { recursive: true });
  writeFileSync(join(outdir, 'index.html'), page);
  for (const file of outputFiles) writeAsset(outdir, file);
}

function writeAsset(outdir: string, { path, contents }: OutputFile): void {
  const file = join(outdir, relative(outdir, path));
  const options = { params: { [constants.BROTLI_PARAM_SIZE_HINT]: contents.byteLength } };
  writeFileSync(file, contents);
  writeFileSync(`${file}.br`, brotliCompressSync(contents, options));
  writeFileSync(`${file}.gz`, gzipSync(contents, { level: 9 }));
}
