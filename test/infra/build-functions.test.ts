import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
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

/** Runs the handler in a separate process, as in Lambda: without globals of the test runner. */
function answerOf(file: string, event: unknown): unknown {
  const call = `import { handler } from ${JSON.stringify(pathToFileURL(file).href)};
                console.log(JSON.stringify(await handler(${JSON.stringify(event)})));`;
  return JSON.parse(execFileSync(process.execPath, ['--input-type=module', '--eval', call], { encoding: 'utf8' }));
}

test('each handler is bundled into one module that runs alone', async () => {
  const directories = sourcesOf({
    api: `import { extname } from 'node:path';
          export const handler = async (event: { name: string }): Promise<string> => extname(event.name);`,
    worker: `export const handler = async (): Promise<boolean> => typeof require('node:fs').existsSync === 'function';`,
  });
  const bundles = await buildFunctions(directories);
  expect(bundles.map(({ name, bytes }) => [name, bytes > 0])).toEqual([
    ['api', true],
    ['worker', true],
  ]);
  expect(bundledFunctions(directories.outdir)).toEqual(['api', 'worker']);
  expect(answerOf(join(directories.outdir, 'api', 'index.mjs'), { name: 'a.txt' })).toBe('.txt');
  expect(answerOf(join(directories.outdir, 'worker', 'index.mjs'), {})).toBe(true);
});

test('the code function finds its thread files beside its bundle', async () => {
  const lib = (path: string) => JSON.stringify(fileURLToPath(new URL(`../../lib/${path}`, import.meta.url)));
  const directories = sourcesOf({
    code: `import { packArchive } from ${lib('artifact/pack-archive.ts')};
           import { LocalBundles } from ${lib('bundles/local-bundles.ts')};
           import { ThreadSlots } from ${lib('bundles/thread-slots.ts')};
           import { ThreadPrograms } from ${lib('bundles/thread-programs.ts')};
           const path = '.well-known/workflow/v1/flow.js';
           const code = "export const POST = async (request) => Response.json({ got: await request.json() });";
           export const handler = async (body: unknown) => {
             const { archive, files, artifact } = await packArchive(new Map([[path, Buffer.from(code)]]));
             const clock = { now: () => Date.now() };
             const threadSlots = new ThreadSlots({ artifacts: { read: async () => archive } } as never);
             const host = { threadSlots, clock, memoryMb: 64, print: () => {} } as never;
             const bundles = new LocalBundles(host);
             const request = { queueName: '__wkf_workflow_a', headers: {}, body };
             const limits = { endsAt: Date.now() + 20_000, signal: new AbortController().signal };
             const manifest = { deploymentId: 'd', files, artifact };
             const response = await bundles.deliver({} as never, manifest as never, request as never, limits as never);
             const program = { ...manifest, runtime: 'code', files: [...files, { path: 'workflows.mjs' }] };
             const task = { run: { runId: 'wrun_1' }, history: { open: [] } };
             const taskEnd = await new ThreadPrograms(host).start({} as never, program as never, task as never, {} as never).ended;
             return { response, taskEnd };
           };`,
  });
  await buildFunctions(directories);
  expect(readdirSync(join(directories.outdir, 'code'))).toEqual(
    expect.arrayContaining(['bundle-thread.mjs', 'index.mjs', 'program-thread.mjs']),
  );
  expect(answerOf(join(directories.outdir, 'code', 'index.mjs'), 7)).toEqual({
    response: { kind: 'responded', status: 200, body: { got: 7 } },
    // The thread started and did not find the module, which this archive does not contain.
    taskEnd: { kind: 'unloadable', message: expect.stringContaining('Cannot find module') },
  });
});

test('the engine for regular expressions is beside the bundles that use it, and is loaded with the first pattern', async () => {
  const regex = JSON.stringify(fileURLToPath(new URL('../../lib/nodes/condition/operators.ts', import.meta.url)));
  const directories = sourcesOf({
    api: `import { createRequire } from 'node:module';
          import { compileRegex } from ${regex};
          const loaded = () => Object.keys(createRequire(import.meta.url).cache).some((file) => file.endsWith('re2.cjs'));
          export const handler = async (text: string) => {
            const before = loaded();
            const compiled = compileRegex('^a(b+)$');
            return { before, matches: 'regex' in compiled && compiled.regex.test(text), bad: compileRegex('(?=a)'), after: loaded() };
          };`,
    worker: 'export const handler = async () => 1;',
  });
  const bundles = await buildFunctions(directories);
  expect(bundles.find(({ name }) => name === 'api')?.bytes).toBeLessThan(100_000);
  expect(existsSync(join(directories.outdir, 'worker', 're2.cjs'))).toBe(false);
  expect(answerOf(join(directories.outdir, 'api', 'index.mjs'), 'abbb')).toEqual({
    before: false,
    matches: true,
    bad: { code: 'regex_unsupported', message: expect.stringContaining('look-arounds') },
    after: true,
  });
});

test('source maps are beside the bundle, and the bundle does not reference them', async () => {
  const directories = sourcesOf({ api: 'export const handler = async () => {};' });
  await buildFunctions(directories);
  expect(existsSync(join(directories.outdir, 'api', 'index.mjs.map'))).toBe(true);
  expect(readFileSync(join(directories.outdir, 'api', 'index.mjs'), 'utf8')).not.toContain('sourceMappingURL');
});

test('the bundle of a deleted handler is removed', async () => {
  const directories = sourcesOf({
    api: 'export const handler = async () => {};',
    sweep: 'export const handler = async () => {};',
  });
  await buildFunctions(directories);
  rmSync(join(directories.sources, 'sweep'), { recursive: true });
  await buildFunctions(directories);
  expect(bundledFunctions(directories.outdir)).toEqual(['api']);
});

test('the same sources produce the same bundle, byte for byte', async () => {
  const directories = sourcesOf({ api: 'export const handler = async () => 1;' });
  const read = () => readFileSync(join(directories.outdir, 'api', 'index.mjs'), 'utf8');
  await buildFunctions(directories);
  const first = read();
  await buildFunctions(directories);
  expect(read()).toBe(first);
});

test('an unchanged bundle is not rewritten, and a changed one is replaced atomically', async () => {
  const directories = sourcesOf({ api: 'export const handler = async () => 1;', sweep: 'export const handler = async () => 1;' });
  const file = (name: string) => join(directories.outdir, name, 'index.mjs');
  await buildFunctions(directories);
  const before = [statSync(file('api')), statSync(file('sweep'))];
  writeFileSync(join(directories.sources, 'sweep', 'handler.ts'), 'export const handler = async () => 2;');
  await buildFunctions(directories);
  const after = [statSync(file('api')), statSync(file('sweep'))];
  expect(after.map(({ ino }, index) => ino === before[index]?.ino)).toEqual([true, false]);
  expect(after[0]?.mtimeMs).toBe(before[0]?.mtimeMs);
  expect(readdirSync(join(directories.outdir, 'sweep')).toSorted()).toEqual(['index.mjs', 'index.mjs.map']);
});

test('only the function library can make JSON Schemas, and the others still validate', async () => {
  const zod = JSON.stringify(fileURLToPath(import.meta.resolve('zod')));
  const source = `import * as z from ${zod};
    const schema = z.object({ name: z.string() });
    const attempt = (make: () => unknown) => { try { return make(); } catch (error) { return String(error); } };
    export const handler = async (body: unknown) => [
      schema.safeParse(body).success,
      schema['~standard'].vendor,
      attempt(() => z.toJSONSchema(schema, { io: 'input' }).required),
    ];`;
  const { outdir, sources } = sourcesOf({ api: source, library: source });
  await buildFunctions({ outdir, sources });
  const answerFrom = (name: string) => answerOf(join(outdir, name, 'index.mjs'), { name: 'a' });
  expect(answerFrom('library')).toEqual([true, 'zod', ['name']]);
  expect(answerFrom('api')).toEqual([true, 'zod', 'Error: This bundle has no JSON Schema of zod.']);
});
