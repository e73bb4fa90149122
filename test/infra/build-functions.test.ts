import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { bundledFunctions } from '../../lib/constructs/bundled-functions.ts';
import { buildFunctions } from '../../scripts/build-functions.ts';

function sourcesOf(handlers: Readonly<Record<string, string>>): { readonly sources: string; readonly outdir: string } {
  const root = mkdtempSync(join(tmpdir(), 'stepwell-build-'));
  for (const [name, source] of Object.entries(handlers)) {
    mkdirSync(join(root, 'functions', name), { recursive: true });
    writeFileSync(join(root, 'functions', name, 'handler.ts'), source);
  }
  return { sources: join(root, 'functions'), outdir: join(root, 'dist') };
}

/** What the handler answers in a process of its own, as in Lambda: without anything that a test runner brings along. */
function answerOf(file: string, event: unknown): unknown {
  const call = `import { handler } from ${JSON.stringify(pathToFileURL(file).href)};
                console.log(JSON.stringify(await handler(${JSON.stringify(event)})));`;
  return JSON.parse(execFileSync(process.execPath, ['--input-type=module', '--eval', call], { encoding: 'utf8' }));
}

test('each handler that is written becomes one module that runs by itself', async () => {
  const places = sourcesOf({
    api: `import { extname } from 'node:path';
          export const handler = async (event: { name: string }): Promise<string> => extname(event.name);`,
    worker: `export const handler = async (): Promise<boolean> => typeof require('node:fs').existsSync === 'function';`,
  });
  const bundles = await buildFunctions(places);
  expect(bundles.map(({ name, bytes }) => [name, bytes > 0])).toEqual([
    ['api', true],
    ['worker', true],
  ]);
  expect(bundledFunctions(places.outdir)).toEqual(['api', 'worker']);
  expect(answerOf(join(places.outdir, 'api', 'index.mjs'), { name: 'a.txt' })).toBe('.txt');
  expect(answerOf(join(places.outdir, 'worker', 'index.mjs'), {})).toBe(true);
});

test('source maps lie beside the bundle and are not named in it', async () => {
  const places = sourcesOf({ api: 'export const handler = async () => {};' });
  await buildFunctions(places);
  expect(existsSync(join(places.outdir, 'api', 'index.mjs.map'))).toBe(true);
  expect(readFileSync(join(places.outdir, 'api', 'index.mjs'), 'utf8')).not.toContain('sourceMappingURL');
});

test('a handler that is gone leaves no bundle behind to be deployed', async () => {
  const places = sourcesOf({ api: 'export const handler = async () => {};', sweep: 'export const handler = async () => {};' });
  await buildFunctions(places);
  rmSync(join(places.sources, 'sweep'), { recursive: true });
  await buildFunctions(places);
  expect(bundledFunctions(places.outdir)).toEqual(['api']);
});

test('the same sources make the same bundle, byte for byte', async () => {
  const places = sourcesOf({ api: 'export const handler = async () => 1;' });
  const read = () => readFileSync(join(places.outdir, 'api', 'index.mjs'), 'utf8');
  await buildFunctions(places);
  const first = read();
  await buildFunctions(places);
  expect(read()).toBe(first);
});
