/** Builds the files of the console: the page, and its assets with hashed names and their compressed forms. */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, extname, join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';

/** The template of the page. `functions/console` replaces the base and the nonce in each response. */
const pageOf = (script: string, style: string): string => `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <base href="{{base}}" />
    <title>Stepwell</title>
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="csp-nonce" content="{{nonce}}" />
    <link rel="stylesheet" href="console/assets/${style}" />
    <script type="module" src="console/assets/${script}"></script>
  </head>
  <body>
    <main id="root"></main>
  </body>
</html>
`;

const script = `const root = document.querySelector('#root');
const link = /^#link=(sl_[\\w-]+)$/.exec(location.hash)?.[1];
history.replaceState(null, '', location.pathname);
const answer = link === undefined
  ? await fetch('v1/session')
  : await fetch('v1/sessions/exchange', { method: 'POST', body: JSON.stringify({ link }) });
const body = await answer.json();
root.textContent = answer.ok ? 'Signed in as ' + body.subject : body.message;
`;

const style = ':root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }\n';

/** Writes `index.html` and `assets` into a directory, and removes assets of earlier builds. */
export async function buildConsole(outdir: string): Promise<void> {
  const assets = [named('main.js', script), named('main.css', style)];
  const written = new Set(
    assets.flatMap(({ name, bytes }) => {
      writeIfChanged(join(outdir, 'assets', name), bytes);
      writeIfChanged(join(outdir, 'assets', `${name}.br`), brotliCompressSync(bytes));
      writeIfChanged(join(outdir, 'assets', `${name}.gz`), gzipSync(bytes, { level: 9 }));
      return [name, `${name}.br`, `${name}.gz`];
    }),
  );
  for (const name of readdirSync(join(outdir, 'assets'))) if (!written.has(name)) rmSync(join(outdir, 'assets', name));
  const [main, css] = assets.map(({ name }) => name);
  writeIfChanged(join(outdir, 'index.html'), Buffer.from(pageOf(main ?? '', css ?? '')));
}

/** `main.js` → `main-<hash>.js` */
function named(file: string, text: string): { readonly name: string; readonly bytes: Buffer } {
  const bytes = Buffer.from(text);
  const hash = createHash('sha256').update(bytes).digest('hex').slice(0, 10);
  const extension = extname(file);
  return { name: `${file.slice(0, -extension.length)}-${hash}${extension}`, bytes };
}

/** Writes atomically, and only changed files: other processes can read the same files at the same time. */
function writeIfChanged(file: string, contents: Buffer): void {
  if (existsSync(file) && readFileSync(file).equals(contents)) return;
  mkdirSync(dirname(file), { recursive: true });
  const temporaryFile = `${file}.${process.pid}.new`;
  writeFileSync(temporaryFile, contents);
  renameSync(temporaryFile, file);
}
