import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { durationMs } from '../../lib/engine/time.ts';
import { bundlePaths } from '../../lib/ports/bundles.ts';
import { Unavailable } from '../../lib/ports/unavailable.ts';
import { threadSlotLimits } from '../../lib/bundles/thread-slots.ts';
import { answering, freshFolder, hostOf, scope } from './given.ts';

const ok = (body: unknown) => ({ kind: 'responded', status: 200, body });

describe('a bundle', () => {
  test('gets the message as a request, and its response is parsed', async () => {
    const host = hostOf();
    const manifest = await host.deploy(
      'dpl_1',
      `export async function POST(request) {
         const seen = { method: request.method, path: new URL(request.url).pathname, attempt: request.headers.get('x-vqs-message-attempt') };
         return Response.json({ seen, body: await request.json() }, { status: 503 });
       }`,
    );
    expect(await host.ask(manifest, { headers: { 'x-vqs-message-attempt': '3' }, body: 'hello' })).toEqual({
      kind: 'responded',
      status: 503,
      body: { seen: { method: 'POST', path: '/.well-known/workflow/v1/flow', attempt: '3' }, body: 'hello' },
    });
  });

  test('is chosen by the queue, with or without a namespace', async () => {
    const host = hostOf();
    const manifest = await host.deploy('dpl_1', {
      [bundlePaths.workflow]: answering(`'flow'`),
      [bundlePaths.step]: answering(`'step'`),
    });
    expect(await host.ask(manifest, { queueName: '__wkf_workflow_a' })).toEqual(ok('flow'));
    expect(await host.ask(manifest, { queueName: '__wkf_step_step//./a//b' })).toEqual(ok('step'));
    expect(await host.ask(manifest, { queueName: '__mine_wkf_step_b' })).toEqual(ok('step'));
    expect(await host.ask(manifest, { queueName: 'orders' })).toMatchObject({ kind: 'unloadable' });
  });

  test('may import files next to it, and Node’s modules', async () => {
    const host = hostOf();
    const manifest = await host.deploy('dpl_1', {
      [bundlePaths.workflow]: `import { word } from '../../../lib/word.js'; import { sep } from 'node:path'; ${answering('word + sep')}`,
      'lib/word.js': `export const word = 'well';`,
    });
    expect(await host.ask(manifest)).toEqual(ok('well/'));
  });

  test('is an ES module, with any package.json in a parent folder', async () => {
    const host = hostOf();
    writeFileSync(join(dirname(host.folder), 'package.json'), '{"type":"commonjs"}');
    expect(await host.ask(await host.deploy('dpl_1', answering('typeof require')))).toEqual(ok('undefined'));
  });

  test('may be CommonJS if its artifact says so', async () => {
    const host = hostOf();
    const manifest = await host.deploy('dpl_1', {
      'package.json': '{"type":"commonjs"}',
      [bundlePaths.workflow]: `Object.assign(module.exports, { POST: async () => Response.json('old') });`,
    });
    expect(await host.ask(manifest)).toEqual(ok('old'));
  });

  test('keeps its state between messages, and handles several at once', async () => {
    const host = hostOf();
    const manifest = await host.deploy(
      'dpl_1',
      `let open; const both = new Promise((resolve) => (open = resolve)); let count = 0;
       export const POST = async () => { const mine = ++count; if (count === 2) open(); await both; return Response.json(mine); };`,
    );
    expect(await Promise.all([host.ask(manifest), host.ask(manifest)])).toEqual([ok(1), ok(2)]);
  });

  test('sees only the documented variables of the function', async () => {
    process.env['AWS_SECRET_ACCESS_KEY'] = 'not-for-the-code';
    process.env['STEPWELL_CONTROL_TABLE'] = 'not-for-the-code';
    const host = hostOf();
    const manifest = await host.deploy('dpl_1', answering('process.env'));
    const answer = await host.ask(manifest);
    delete process.env['AWS_SECRET_ACCESS_KEY'];
    delete process.env['STEPWELL_CONTROL_TABLE'];
    const seen = answer.kind === 'responded' ? Object.keys(Object(answer.body)) : [];
    expect(seen).toContain('STEPWELL_DEPLOYMENT_ID');
    expect(seen.filter((name) => !['NODE_ENV', 'TZ', 'LANG', 'TMPDIR', 'STEPWELL_DEPLOYMENT_ID'].includes(name))).toEqual([]);
  });

  test('gets fresh credentials before each message', async () => {
    const keys = ['first', 'second'];
    const host = hostOf({ readCredentialVariables: async (id) => ({ AWS_ACCESS_KEY_ID: `${keys.shift()} of ${id}` }) });
    const manifest = await host.deploy(
      'dpl_1',
      `const atImport = process.env.AWS_ACCESS_KEY_ID; ${answering('[atImport, process.env.AWS_ACCESS_KEY_ID]')}`,
    );
    expect(await host.ask(manifest)).toEqual(ok(['first of dpl_1', 'first of dpl_1']));
    expect(await host.ask(manifest)).toEqual(ok(['first of dpl_1', 'second of dpl_1']));
  });
});

describe('a response', () => {
  test('may be streamed', async () => {
    const host = hostOf();
    const manifest = await host.deploy(
      'dpl_1',
      `export const POST = async () => new Response(new ReadableStream({
         async start(to) { for (const part of ['{"a":', '[1,', '2]}']) { to.enqueue(new TextEncoder().encode(part)); await null; } to.close(); },
       }));`,
    );
    expect(await host.ask(manifest)).toEqual(ok({ a: [1, 2] }));
  });

  test('that is not JSON has no body', async () => {
    const host = hostOf();
    const manifest = await host.deploy('dpl_1', `export const POST = async () => new Response('<html>', { status: 502 });`);
    expect(await host.ask(manifest)).toEqual({ kind: 'responded', status: 502, body: undefined });
  });

  test('larger than a mebibyte is invalid, and the thread stays alive', async () => {
    const host = hostOf();
    const manifest = await host.deploy(
      'dpl_1',
      `let asked = 0; export const POST = async () => new Response(JSON.stringify('x'.repeat(asked++ === 0 ? 1048576 : 10)));`,
    );
    expect(await host.ask(manifest)).toEqual({ kind: 'crashed', message: expect.stringContaining('larger than 1048576 bytes') });
    expect(await host.ask(manifest)).toEqual(ok('xxxxxxxxxx'));
  });

  test('without an end is aborted at the size limit', async () => {
    const host = hostOf();
    const manifest = await host.deploy(
      'dpl_1',
      `export const POST = async () => new Response(new ReadableStream({ pull(to) { to.enqueue(new Uint8Array(65536)); } }));`,
    );
    expect(await host.ask(manifest)).toEqual({ kind: 'crashed', message: expect.stringContaining('larger than 1048576 bytes') });
  });

  test.each([
    ['deeper than a hundred levels', `'['.repeat(200) + ']'.repeat(200)`],
    ['deep enough to end a stack', `'['.repeat(500000) + ']'.repeat(500000)`],
    ['with an infinite number', `'{"a":1e999}'`],
    ['with half a character', `'"\\\\ud800"'`],
    ['with a key that means something else', `'{"__proto__":1}'`],
  ])('%s is invalid', async (_what, text) => {
    const host = hostOf();
    const manifest = await host.deploy('dpl_1', `export const POST = async () => new Response(${text});`);
    expect(await host.ask(manifest)).toEqual({ kind: 'crashed', message: expect.stringMatching(/^the response /) });
  });

  test.each([
    ['nothing', 'undefined'],
    ['an object', '{ status: 200 }'],
  ])('must be a Response: %s is rejected', async (_what, value) => {
    const host = hostOf();
    const manifest = await host.deploy('dpl_1', `export const POST = async () => (${value});`);
    expect(await host.ask(manifest)).toEqual({ kind: 'crashed', message: 'TypeError: POST must return a Response' });
  });
});

describe('code that crashes its thread', () => {
  /** Misbehaves once, and responds normally afterwards. */
  const once = (deed: string): string => {
    const mark = JSON.stringify(join(freshFolder(), 'mark'));
    return `import { existsSync, writeFileSync } from 'node:fs';
      export const POST = async () => { if (existsSync(${mark})) return Response.json('again'); writeFileSync(${mark}, ''); ${deed} };`;
  };

  test.each([
    ['throws', `throw new RangeError('no')`, { kind: 'crashed', message: 'RangeError: no' }],
    ['exits', `process.exit(3)`, { kind: 'crashed', message: 'the code ended its thread with code 3' }],
    [
      'leaves a rejection alone',
      `Promise.reject(new Error('alone')); await new Promise(() => {})`,
      { kind: 'crashed', message: 'the code broke its thread: Error: alone' },
    ],
    [
      'throws where no code catches',
      `setTimeout(() => { throw new Error('late') }); await new Promise(() => {})`,
      { kind: 'crashed', message: 'the code broke its thread: Error: late' },
    ],
    [
      'eats all memory',
      `const eaten = []; for (;;) eaten.push(new Array(100000).fill({}))`,
      { kind: 'crashed', message: expect.stringMatching(/reaching memory limit/) },
    ],
  ])('%s: its message fails, and the next one gets a new thread', async (_what, deed, told) => {
    const host = hostOf({ memoryMb: 32 });
    const manifest = await host.deploy('dpl_1', once(deed));
    expect(await host.ask(manifest)).toEqual(told);
    expect(await host.ask(manifest)).toEqual(ok('again'));
  });

  test('a message that never ends times out, also in a loop', async () => {
    const host = hostOf();
    for (const deed of ['for (;;) {}', 'await new Promise(() => {})', 'return new Response(new ReadableStream({ pull() {} }))']) {
      const manifest = await host.deploy('dpl_1', once(deed));
      expect(await host.ask(manifest, { withinMs: 1_000 }), deed).toEqual({ kind: 'timed_out' });
      expect(await host.ask(manifest), deed).toEqual(ok('again'));
    }
  });

  test('a signal ends it early', async () => {
    const host = hostOf();
    const manifest = await host.deploy('dpl_1', `console.log('begun'); export const POST = () => new Promise(() => {});`);
    const stop = new AbortController();
    const asked = host.ask(manifest, { signal: stop.signal });
    await expect.poll(() => host.printed.length).toBe(1);
    stop.abort();
    expect(await asked).toEqual({ kind: 'timed_out' });
  });

  test('other messages on the thread crash too', async () => {
    const host = hostOf();
    const manifest = await host.deploy(
      'dpl_1',
      `export const POST = async (request) => { if ((await request.json()) === 'exit') process.exit(1); await new Promise(() => {}); };`,
    );
    const waiting = host.ask(manifest, { body: 'wait' });
    expect(await host.ask(manifest, { body: 'exit' })).toMatchObject({ kind: 'crashed' });
    expect(await waiting).toEqual({ kind: 'crashed', message: 'the code ended its thread with code 1' });
  });

  test('messages of the code to the port are ignored', async () => {
    const host = hostOf();
    const manifest = await host.deploy(
      'dpl_1',
      `import { parentPort } from 'node:worker_threads';
       for (const said of [7, 'x', { kind: 'responded' }, { kind: 'responded', id: 99, status: 200, body: '1' }]) parentPort.postMessage(said);
       ${answering(`'true'`)}`,
    );
    expect(await host.ask(manifest)).toEqual(ok('true'));
  });
});

describe('an artifact that cannot be loaded', () => {
  test('a bundle that keeps its runs in a World of its own fails its first message with the reason', async () => {
    const host = hostOf();
    const manifest = await host.deploy(
      'own-world',
      `export async function POST() {
        globalThis[Symbol.for('@workflow/world//cache')] = {};
        return Response.json({});
      }`,
    );
    expect(await host.ask(manifest)).toEqual({
      kind: 'unloadable',
      message: expect.stringMatching(/World of the Workflow DevKit that it made itself.*runtime devkit/),
    });
  });

  test.each([
    ['exports no POST', `export const GET = 1;`, 'TypeError: the bundle exports no function POST'],
    ['does not parse', `export const = 1;`, expect.stringMatching(/^SyntaxError: /)],
    ['throws while it loads', `throw new Error('no such setting');`, 'Error: no such setting'],
    ['imports what is not there', `import './gone.js';`, expect.stringMatching(/Cannot find module/)],
    ['exits while it loads', `process.exit(0);`, 'the code ended its thread with code 0'],
  ])('a bundle that %s is unloadable each time', async (_what, source, message) => {
    const host = hostOf();
    const manifest = await host.deploy('dpl_1', source);
    expect(await host.ask(manifest)).toEqual({ kind: 'unloadable', message });
    expect(await host.ask(manifest)).toEqual({ kind: 'unloadable', message });
  });

  test('a temporarily missing import is retried', async () => {
    const host = hostOf();
    const mark = JSON.stringify(join(freshFolder(), 'mark'));
    const manifest = await host.deploy(
      'dpl_1',
      `import { existsSync, writeFileSync } from 'node:fs';
       if (!existsSync(${mark})) { writeFileSync(${mark}, ''); throw new Error('not yet'); } ${answering('1')}`,
    );
    expect(await host.ask(manifest)).toEqual({ kind: 'unloadable', message: 'Error: not yet' });
    expect(await host.ask(manifest)).toEqual(ok(1));
  });

  test('a bundle that awaits forever is unloadable', async () => {
    const host = hostOf({ limits: { importTimeoutMs: durationMs(300) } });
    const manifest = await host.deploy('dpl_1', `await new Promise(() => {}); ${answering('1')}`);
    expect(await host.ask(manifest)).toEqual({ kind: 'unloadable', message: 'the bundle was not imported within 300 ms' });
    expect(await host.ask(manifest, { withinMs: 100 })).toEqual({ kind: 'timed_out' });
  });

  test('an artifact that is deleted, has a wrong digest or lacks the bundle is unloadable', async () => {
    const host = hostOf();
    const manifest = await host.deploy('dpl_1', answering('1'));
    const named = { scope, deploymentId: manifest.deploymentId, sha256: manifest.artifact.sha256 };
    const archive = await host.artifacts.read(named, 10_000);
    await host.artifacts.put(named, Buffer.from('something else'));
    expect(await host.ask(manifest)).toMatchObject({ kind: 'unloadable', message: expect.stringContaining('digest') });
    await host.artifacts.remove(named);
    expect(await host.ask(manifest)).toEqual({ kind: 'unloadable', message: 'the artifact is deleted' });
    expect(await host.ask(manifest, { queueName: '__wkf_step_x' })).toMatchObject({
      message: `the artifact has no ${bundlePaths.step}`,
    });
    if (!(archive instanceof Uint8Array)) throw new Error('the archive was there');
    await host.artifacts.put(named, archive);
    const lying = { ...manifest, files: manifest.files.map((file) => ({ ...file, sha256: '0'.repeat(64) })) };
    expect(await host.ask(lying)).toMatchObject({ kind: 'unloadable', message: expect.stringContaining(bundlePaths.workflow) });
    expect(await host.ask({ ...manifest, artifact: { ...manifest.artifact, bytes: 10 } })).toMatchObject({
      message: 'the artifact is larger than its manifest says',
    });
    expect(await host.ask(manifest)).toEqual(ok(1));
  });

  test('an unavailable bucket is retried later', async () => {
    let isDown = true;
    const host = hostOf({
      reads: () => {
        if (isDown) throw new Unavailable('the bucket');
      },
    });
    const manifest = await host.deploy('dpl_1', answering('1'));
    await expect(host.ask(manifest)).rejects.toThrow(Unavailable);
    isDown = false;
    expect(await host.ask(manifest)).toEqual(ok(1));
  });
});

describe('deployments side by side', () => {
  test('run their own code, and share nothing', async () => {
    const host = hostOf();
    const one = await host.deploy('dpl_1', `globalThis.mine ??= 'one'; ${answering('globalThis.mine')}`);
    const two = await host.deploy('dpl_2', `globalThis.mine ??= 'two'; ${answering('globalThis.mine')}`);
    expect(await Promise.all([host.ask(one), host.ask(two), host.ask(one)])).toEqual([ok('one'), ok('two'), ok('one')]);
  });

  test.each([
    ['exits', `setTimeout(() => process.exit(7), 20); await new Promise(() => {})`, { kind: 'crashed' }],
    ['blocks its event loop', `for (;;) {}`, { kind: 'timed_out' }],
    ['eats all memory', `const eaten = []; for (;;) eaten.push(new Array(100000).fill({}))`, { kind: 'crashed' }],
    [
      'throws where no code catches',
      `setTimeout(() => { throw new Error('late') }); await new Promise(() => {})`,
      { kind: 'crashed' },
    ],
  ])('one that %s ends no message of another one, whose thread keeps its state', async (_what, deed, told) => {
    const host = hostOf({ memoryMb: 32 });
    const bad = await host.deploy('bad', `export const POST = async () => { ${deed} };`);
    const good = await host.deploy(
      'good',
      `let asked = 0;
       export const POST = async (request) => {
         const turn = ++asked;
         if ((await request.json()) === 'long') await new Promise((resolve) => setTimeout(resolve, 1_500));
         return Response.json(turn);
       };`,
    );
    expect(await host.ask(good)).toEqual(ok(1));
    const long = host.ask(good, { body: 'long' });
    const broken = host.ask(bad, { withinMs: told.kind === 'timed_out' ? 1_000 : 20_000 });
    // Answered while the other thread misbehaves, and after it.
    expect(await host.ask(good)).toEqual(ok(3));
    expect(await broken).toMatchObject(told);
    expect(await long).toEqual(ok(2));
    expect(await host.ask(good)).toEqual(ok(4));
  });

  test('one that throws or exits while it loads is unloadable, and another one keeps its thread', async () => {
    const host = hostOf();
    const good = await host.deploy('good', `let asked = 0; ${answering('++asked')}`);
    expect(await host.ask(good)).toEqual(ok(1));
    for (const [name, source] of [
      ['throws', `throw new Error('no such setting');`],
      ['exits', `process.exit(9);`],
    ] as const) {
      const bad = await host.deploy(name, source);
      const [broken, answer] = await Promise.all([host.ask(bad), host.ask(good)]);
      expect(broken).toMatchObject({ kind: 'unloadable' });
      expect(answer).toMatchObject({ kind: 'responded' });
    }
    expect(await host.ask(good)).toEqual(ok(4));
  });

  test('the least recently used one is evicted, and starts again on demand', async () => {
    let reads = 0;
    const host = hostOf({ limits: { threads: 2, folders: { deployments: 2, bytes: 10_000 } }, reads: () => (reads += 1) });
    const [a, b, c] = await Promise.all(
      ['a', 'b', 'c'].map((name) => host.deploy(name, `let asked = 0; ${answering(`'${name}' + ++asked`)}`)),
    );
    if (a === undefined || b === undefined || c === undefined) throw new Error('three were deployed');
    for (const [manifest, body] of [
      [a, 'a1'],
      [b, 'b1'],
      [a, 'a2'],
      [c, 'c1'],
      [a, 'a3'],
    ] as const)
      expect(await host.ask(manifest)).toEqual(ok(body));
    expect(readdirSync(host.folder).toSorted()).toEqual([a, c].map(({ artifact }) => artifact.sha256).toSorted());
    expect(await host.ask(b)).toEqual(ok('b1'));
    expect(reads).toBe(4);
  });

  test('large ones are evicted by size', async () => {
    const host = hostOf({ limits: { folders: { deployments: 8, bytes: 1_500 } } });
    const filled = (name: string) => host.deploy(name, `${answering(`'${name}'`)} // ${name.repeat(1_000)}`);
    const a = await filled('a');
    const b = await filled('b');
    expect(await host.ask(a)).toEqual(ok('a'));
    expect(await host.ask(b)).toEqual(ok('b'));
    expect(readdirSync(host.folder)).toEqual([b.artifact.sha256]);
    expect(threadSlotLimits).toMatchObject({ threads: 4, folders: { deployments: 8, bytes: 419_430_400 } });
  });

  test('concurrent requests load an artifact once', async () => {
    let reads = 0;
    const host = hostOf({ reads: () => (reads += 1) });
    const manifest = await host.deploy('dpl_1', `let asked = 0; ${answering('++asked')}`);
    const answers = await Promise.all(Array.from({ length: 10 }, () => host.ask(manifest)));
    expect(answers).toEqual(Array.from({ length: 10 }, (_, at) => ok(at + 1)));
    expect(reads).toBe(1);
  });

  test('the same artifact under two names is unpacked once, and runs on two threads', async () => {
    let reads = 0;
    const host = hostOf({ reads: () => (reads += 1) });
    const code = `let asked = 0; ${answering('process.env.STEPWELL_DEPLOYMENT_ID + ++asked')}`;
    const [one, two] = await Promise.all([host.deploy('a', code), host.deploy('b', code)]);
    expect(await Promise.all([host.ask(one), host.ask(two)])).toEqual([ok('a1'), ok('b1')]);
    expect(reads).toBe(1);
  });

  test('folders of another process are deleted at the first use, and no partial folder remains', async () => {
    const host = hostOf();
    mkdirSync(join(host.folder, 'new-half-made'), { recursive: true });
    const manifest = await host.deploy('dpl_1', answering('1'));
    expect(await host.ask(manifest)).toEqual(ok(1));
    expect(readdirSync(host.folder)).toEqual([manifest.artifact.sha256]);
    expect(existsSync(join(host.folder, manifest.artifact.sha256, bundlePaths.workflow))).toBe(true);
  });
});

describe('what code prints', () => {
  test('is forwarded line by line, with the deployment, and the run if it is alone on the thread', async () => {
    const host = hostOf();
    const manifest = await host.deploy(
      'dpl_1',
      `export const POST = async () => { console.log('one\\ntwo'); process.stderr.write('grün'); return Response.json(1); };`,
    );
    await host.ask(manifest, { headers: { 'x-workflow-run-id': 'wrun_1' } });
    const whose = { deploymentId: 'dpl_1', runId: 'wrun_1' };
    expect(host.printed.toSorted((a, b) => (a.text < b.text ? -1 : 1))).toEqual([
      { ...whose, stream: 'stderr', text: 'grün' },
      { ...whose, stream: 'stdout', text: 'one' },
      { ...whose, stream: 'stdout', text: 'two' },
    ]);
  });

  test('before an exit is forwarded too', async () => {
    const host = hostOf();
    const manifest = await host.deploy('dpl_1', `export const POST = () => { console.log('last words'); process.exit(1); };`);
    await host.ask(manifest, { headers: { 'x-workflow-run-id': 'wrun_1' } });
    expect(host.printed).toEqual([{ deploymentId: 'dpl_1', runId: 'wrun_1', stream: 'stdout', text: 'last words' }]);
  });

  test('is cut at the limit', async () => {
    const host = hostOf();
    const manifest = await host.deploy(
      'dpl_1',
      `export const POST = async () => { for (let i = 0; i < 100; i += 1) console.log('x'.repeat(20000)); return Response.json(1); };`,
    );
    await host.ask(manifest);
    expect(Math.max(...host.printed.map(({ text }) => text.length))).toBeLessThanOrEqual(8_192);
    expect(host.printed.reduce((sum, { text }) => sum + text.length, 0)).toBeLessThan(300_000);
    expect(host.printed.at(-1)?.text).toMatch(/output truncated/);
    await host.ask(manifest);
    expect(host.printed.filter(({ text }) => /output truncated/.test(text))).toHaveLength(2);
  });
});

describe('unusual thrown values', () => {
  test.each([
    ['an object whose text throws', `{ toString: 1, valueOf: 1 }`],
    ['an object without a prototype', `Object.create(null)`],
    ['an error whose name is no text', `Object.assign(new Error('m'), { name: { toString: 1, valueOf: 1 } })`],
    ['an error whose message throws', `Object.defineProperty(new Error(), 'message', { get() { throw 1 } })`],
    ['a symbol', `Symbol('s')`],
  ])('%s, thrown by POST or unhandled, crashes its message and not the process', async (_name, thrown) => {
    const host = hostOf();
    const first = await host.deploy('dpl_1', `export const POST = async () => { throw ${thrown} };`);
    expect(await host.ask(first)).toMatchObject({ kind: 'crashed' });
    const second = await host.deploy(
      'dpl_2',
      `export const POST = () => new Promise(() => { setTimeout(() => { throw ${thrown} }, 1) });`,
    );
    expect(await host.ask(second)).toMatchObject({ kind: 'crashed' });
  });
});
