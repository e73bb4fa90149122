import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { attempt, commitNo, firstAttempt } from '../../lib/engine/ids.ts';
import { durationMs, instant } from '../../lib/engine/time.ts';
import { Unavailable } from '../../lib/ports/unavailable.ts';
import { freshFolder, scope } from './given.ts';
import { historyOf, programOf, programsOf, recordingHost, runIdOf } from './programs-given.ts';

// Starting threads can take long on a busy machine.
vi.setConfig({ testTimeout: 60_000 });
const patiently = { timeout: 30_000 };

const over = { kind: 'finished' };
const one = (key: string) => [{ key, attempt: firstAttempt }];
const atOnce = durationMs(50);

describe('a workflow task', () => {
  test('commits its steps batch by batch, and ends with the run', async () => {
    const host = programsOf();
    const manifest = await host.deploy(
      'dpl_1',
      programOf(`async ({ input, step, send }) => { await send('hi'); return (await step('one', async () => input + 1)) + 1; }`),
    );
    const drive = host.begin(manifest, { input: 40 });
    expect(await drive.ended).toEqual(over);
    expect(drive.turns.flatMap(({ entries }) => entries)).toEqual([
      { kind: 'scheduled', command: { kind: 'function', key: 'one' } },
      expect.objectContaining({ kind: 'completed', key: 'one', attempt: 1, output: 41 }),
      { kind: 'returned', output: 42 },
    ]);
    expect(drive.sent).toEqual(['hi']);
  });

  test('shares its thread and variables with tasks of its deployment, but not of another deployment', async () => {
    const host = programsOf();
    const code = programOf(`async () => { globalThis.count = (globalThis.count ?? 0) + 1; return globalThis.count; }`);
    const [a, b] = [await host.deploy('a', code), await host.deploy('b', code)];
    const outputs = async (manifest: typeof a, runs: readonly number[]) => {
      const drives = runs.map((run) => host.begin(manifest, { run }));
      await Promise.all(drives.map(({ ended }) => ended));
      return drives.map(({ turns }) => turns.at(-1)?.entries.at(-1));
    };
    expect(await outputs(a, [1, 2, 3])).toEqual(
      expect.arrayContaining([1, 2, 3].map((output) => ({ kind: 'returned', output }))),
    );
    expect(await outputs(b, [4])).toEqual([{ kind: 'returned', output: 1 }]);
  });

  test('gets histories of other commits, and can be stopped', async () => {
    const host = programsOf();
    const manifest = await host.deploy('dpl_1', programOf(`async ({ overtaken }) => await overtaken`));
    const told = host.begin(manifest);
    told.replaceHistory(historyOf({ stepAttempts: 7 }));
    expect(await told.ended).toEqual(over);
    expect(told.turns.at(-1)?.entries).toEqual([{ kind: 'returned', output: 7 }]);
    const handing = host.begin(await host.deploy('dpl_3', programOf(`async ({ handsOn }) => await handsOn`)));
    handing.handOff();
    expect(await handing.ended).toEqual(over);
    const stopped = host.begin(
      await host.deploy('dpl_2', programOf(`({ step }) => step('one', () => new Promise(() => {}))`)),
      {},
      recordingHost(() => ({ kind: 'stop' })),
    );
    expect(await stopped.ended).toEqual(over);
  });

  test('a cancel aborts the signal of its step functions', async () => {
    const host = programsOf();
    const manifest = await host.deploy(
      'dpl_1',
      programOf(
        `({ step }) => step('one', (signal) => new Promise((done) => { signal.onabort = () => done(signal.reason); console.log('begun'); }))`,
      ),
    );
    const drive = host.begin(manifest);
    await expect.poll(() => host.printed.length, patiently).toBe(1);
    drive.cancel('no longer wanted');
    expect(await drive.ended).toEqual(over);
    expect(drive.turns.at(-1)?.entries).toEqual([{ kind: 'returned', output: 'no longer wanted' }]);
  });

  test('ends when its host cannot commit', async () => {
    const host = programsOf();
    const manifest = await host.deploy('dpl_1', programOf(`({ step }) => step('one', async () => 1)`));
    const drive = host.begin(
      manifest,
      {},
      recordingHost(() => Promise.reject(new Unavailable('the log'))),
    );
    expect(await drive.ended).toEqual(over);
  });

  test('reports an unknown workflow', async () => {
    const host = programsOf();
    const manifest = await host.deploy('dpl_1', programOf(`async () => 1`));
    expect(await host.begin(manifest, { workflow: 'other' }).ended).toEqual({
      kind: 'unknown_workflow',
      message: 'there is no other',
    });
  });

  test('sees the owner’s variables, and none of the function’s', async () => {
    process.env['STEPWELL_TEST_SECRET'] = 'x';
    const host = programsOf({ variables: async () => ({ GREETING: 'hello', STEPWELL_DEPLOYMENT_ID: 'mine' }) });
    const manifest = await host.deploy('dpl_1', programOf(`async () => ({ ...process.env })`));
    const drive = host.begin(manifest);
    await drive.ended;
    expect(drive.turns.at(-1)?.entries[0]).toEqual({
      kind: 'returned',
      output: expect.objectContaining({ GREETING: 'hello', STEPWELL_DEPLOYMENT_ID: 'dpl_1', NODE_ENV: expect.any(String) }),
    });
    expect(JSON.stringify(drive.turns)).not.toContain('STEPWELL_TEST_SECRET');
    delete process.env['STEPWELL_TEST_SECRET'];
  });

  test('gets fresh credentials before each task on its thread', async () => {
    const keys = ['first', 'second'];
    const host = programsOf({ readCredentialVariables: async (id) => ({ AWS_ACCESS_KEY_ID: `${keys.shift()} of ${id}` }) });
    const { AWS_ACCESS_KEY_ID: before } = process.env;
    const manifest = await host.deploy('dpl_1', programOf(`async () => process.env.AWS_ACCESS_KEY_ID`));
    const outputs: unknown[] = [];
    for (const run of [1, 2]) {
      const drive = host.begin(manifest, { run });
      await drive.ended;
      outputs.push(drive.turns.at(-1)?.entries[0]);
    }
    expect(outputs).toEqual(['first of dpl_1', 'second of dpl_1'].map((output) => ({ kind: 'returned', output })));
    expect(process.env['AWS_ACCESS_KEY_ID']).toBe(before);
  });

  test('does not start when its credentials cannot be read', async () => {
    const host = programsOf({ readCredentialVariables: () => Promise.reject(new Unavailable('the role')) });
    const drive = host.begin(await host.deploy('dpl_1', programOf(`async () => 1`)));
    expect(await drive.ended).toEqual({
      kind: 'unloadable',
      message: expect.stringMatching(/^the deployment cannot be started now/),
    });
    expect(drive.turns).toEqual([]);
  });
});

describe('code that crashes its thread', () => {
  const deeds: readonly (readonly [string, string, unknown])[] = [
    ['exits', `process.exit(3)`, 'the code ended its thread with code 3'],
    [
      'leaves a rejection alone',
      `Promise.reject(new Error('alone')); await new Promise(() => {})`,
      'the code broke its thread: Error: alone',
    ],
    [
      'throws where no code catches',
      `setTimeout(() => { throw new Error('late') }); await new Promise(() => {})`,
      'the code broke its thread: Error: late',
    ],
    [
      'eats all memory',
      `const eaten = []; for (;;) eaten.push(new Array(100000).fill({}))`,
      expect.stringMatching(/reaching memory limit/),
    ],
  ];
  test.each(deeds)('%s: the failed step function is named, and the next task gets a new thread', async (_what, deed, message) => {
    const host = programsOf({ memoryMb: 32 });
    const mark = join(freshFolder(), 'mark');
    const manifest = await host.deploy(
      'dpl_1',
      `import { existsSync } from 'node:fs';\n${programOf(
        `async ({ step }) => { await step('before', async () => 1); return step('deed', async () => { if (existsSync(${JSON.stringify(mark)})) return 'again'; ${deed} }); }`,
      )}`,
    );
    const drive = host.begin(manifest);
    expect(await drive.ended).toEqual({ kind: 'crashed', message, running: one('deed') });
    writeFileSync(mark, '');
    const next = host.begin(manifest);
    expect(await next.ended).toEqual(over);
    expect(next.turns.at(-1)?.entries).toEqual([{ kind: 'returned', output: 'again' }]);
  });

  test('ends other tasks too, without blaming their step functions', async () => {
    const host = programsOf();
    const manifest = await host.deploy(
      'dpl_1',
      programOf(
        `({ input, step }) => step('body', async () => { console.log('begun'); if (input === 'wait') await new Promise(() => {}); await new Promise((done) => setTimeout(done, 20)); process.exit(1); })`,
      ),
    );
    const waiting = host.begin(manifest, { run: 1, input: 'wait' });
    await expect.poll(() => host.printed.length, patiently).toBe(1);
    const exiting = host.begin(manifest, { run: 2 });
    expect(await exiting.ended).toMatchObject({ kind: 'crashed', running: one('body') });
    expect(await waiting.ended).toEqual({
      kind: 'crashed',
      message: 'the thread was ended because of another run on it',
      running: [],
    });
  });

  test.each(['for (;;) {}', 'await new Promise(() => {})'])(
    'a step function that does not end (%s) is ended with its thread',
    async (deed) => {
      const host = programsOf({ killTimeoutMs: atOnce });
      const manifest = await host.deploy(
        'dpl_1',
        programOf(`({ step }) => step('endless', async () => { console.log('begun'); ${deed} })`),
      );
      const drive = host.begin(manifest);
      await expect.poll(() => host.printed.length, patiently).toBe(1);
      await drive.kill('its time is over');
      expect(await drive.ended).toEqual({ kind: 'timed_out', message: 'its time is over', running: one('endless') });
      await drive.kill('again');
    },
  );

  test('a workflow function that does not end is ended with its thread', async () => {
    const host = programsOf({ killTimeoutMs: atOnce });
    const manifest = await host.deploy('dpl_1', programOf(`async () => { console.log('begun'); for (;;) {} }`));
    const drive = host.begin(manifest);
    await expect.poll(() => host.printed.length, patiently).toBe(1);
    await drive.kill('its time is over');
    expect(await drive.ended).toEqual({ kind: 'timed_out', message: 'its time is over', running: [] });
  });

  test('killing a task without a running step function keeps the thread', async () => {
    const host = programsOf({ killTimeoutMs: durationMs(60_000) });
    const manifest = await host.deploy(
      'dpl_1',
      programOf(
        `async ({ overtaken }) => { globalThis.count = (globalThis.count ?? 0) + 1; console.log(globalThis.count); await overtaken; }`,
      ),
    );
    for (const count of ['1', '2']) {
      const drive = host.begin(manifest);
      await expect.poll(() => host.printed.at(-1)?.text, patiently).toBe(count);
      await drive.kill('enough');
      expect(await drive.ended).toMatchObject({ kind: 'timed_out', running: [] });
    }
  });

  test('a step function that waits for its retry does not count as running', async () => {
    const host = programsOf();
    const open = (key: string, retryAt?: number) => ({
      key,
      attempt: attempt(3),
      dispatchCommit: commitNo(4),
      lostAttempts: 0,
      ...(retryAt === undefined ? {} : { retryAt: instant(retryAt) }),
    });
    const manifest = await host.deploy('dpl_1', programOf(`async () => process.exit(1)`));
    const drive = host.begin(manifest, { open: [open('due', 1), open('later', Date.now() + 1e9), open('lost')] });
    expect(await drive.ended).toMatchObject({ running: [{ key: 'due', attempt: 3 }] });
  });

  test.each([
    [
      'a turn that is none',
      `{ kind: 'batch', taskId: 1, batch: '{"entries":[{"kind":"scheduled"}],"next":"suspended"}' }`,
      /a command batch is invalid at \/entries\/0/,
    ],
    ['what is no JSON', `{ kind: 'batch', taskId: 1, batch: '{' }`, /a command batch is not JSON/],
    [
      'a value that cannot be stored',
      `{ kind: 'batch', taskId: 1, batch: '{"__proto__":1}' }`,
      /a command batch contains a key that cannot be stored/,
    ],
    [
      'an attempt of 0',
      `{ kind: 'batch', taskId: 1, batch: JSON.stringify({ entries: [{ kind: 'failed', key: 'a', attempt: 0, startedAt: 1, endedAt: 1, failure: { cause: 'error', message: '' } }], next: "suspended" }) }`,
      /invalid at \/entries\/0\/attempt/,
    ],
    ['an end that is none', `{ kind: 'ended', taskId: 1, end: '{"kind":"done"}' }`, /its end is invalid/],
    [
      'a command that is not to be performed',
      `{ kind: 'perform', taskId: 1, call: 1, command: '{"kind":"sleep"}' }`,
      /a command is invalid/,
    ],
  ])('a message with %s is rejected, and its thread ended', async (_what, message, why) => {
    const host = programsOf();
    const manifest = await host.deploy(
      'dpl_1',
      `import { parentPort } from 'node:worker_threads';\n${programOf(`async () => { parentPort.postMessage(${message}); await new Promise(() => {}); }`)}`,
    );
    expect(await host.begin(manifest).ended).toEqual({ kind: 'crashed', message: expect.stringMatching(why), running: [] });
  });

  test('a message outside of the protocol is ignored', async () => {
    const host = programsOf();
    const manifest = await host.deploy(
      'dpl_1',
      `import { parentPort } from 'node:worker_threads';
       for (const said of [7, 'x', { kind: 'batch' }, { kind: 'ended', taskId: 99, end: '{"kind":"finished"}' }]) parentPort.postMessage(said);
       ${programOf(`async () => 1`)}`,
    );
    const drive = host.begin(manifest);
    expect(await drive.ended).toEqual(over);
    expect(drive.turns).toHaveLength(1);
  });
});

describe('an artifact that cannot be loaded', () => {
  const two = (versions: string) => `${programOf('async () => 1')} workflows.push(${versions});`;
  test.each<[string, string, unknown]>([
    ['exports no workflows', `export const other = 1;`, 'the module exports no `workflows`'],
    ['exports workflows that are no list', `export const workflows = {};`, '`workflows` must be an array'],
    ['exports a list of others', `export const workflows = [{ spec: { name: 'a' } }];`, expect.stringContaining('workflows[0]')],
    ['names one twice', two(`workflow('greet')`), 'two workflows have the name greet and no version'],
    [
      'names a version twice',
      two(`workflow('a', 0, '2'), workflow('a', 0, '1'), workflow('a', 0, '2')`),
      'two workflows have the name a and the version 2',
    ],
    ['does not parse', `export const = 1;`, expect.stringMatching(/^SyntaxError: /)],
    ['throws while it loads', `throw new Error('no such setting');`, 'Error: no such setting'],
    ['exits while it loads', `process.exit(0);`, 'the code ended its thread with code 0'],
    ['never ends to load', `await new Promise(() => {});`, 'the module was not imported within 400 ms'],
    ['loops while it loads', `for (;;) {}`, 'the module was not imported within 400 ms'],
  ])('an artifact that %s is unloadable each time', async (_what, source, message) => {
    const isWaiting = typeof message === 'string' && message.endsWith('within 400 ms');
    const host = programsOf(isWaiting ? { limits: { importTimeoutMs: durationMs(400) } } : {});
    const manifest = await host.deploy('dpl_1', source);
    const unloadable = { kind: 'unloadable', message };
    expect(await Promise.all([host.begin(manifest).ended, host.begin(manifest, { run: 2 }).ended])).toEqual([
      unloadable,
      unloadable,
    ]);
    expect(await host.begin(manifest).ended).toEqual(unloadable);
  });

  test('an artifact that is deleted, differs from its manifest, or is unavailable', async () => {
    let isDown = false;
    const host = programsOf({
      reads: () => {
        if (isDown) throw new Unavailable('the bucket');
      },
    });
    const manifest = await host.deploy('dpl_1', programOf('async () => 1'));
    isDown = true;
    expect(await host.begin(manifest).ended).toMatchObject({
      kind: 'unloadable',
      message: expect.stringContaining('the bucket'),
    });
    isDown = false;
    const named = { scope, deploymentId: manifest.deploymentId, sha256: manifest.artifact.sha256 };
    const archive = await host.artifacts.read(named, 10_000);
    await host.artifacts.remove(named);
    expect(await host.begin(manifest).ended).toEqual({ kind: 'unloadable', message: 'the artifact is deleted' });
    const other = await host.deploy('dpl_2', 'export const workflows = [];', 'other.mjs');
    expect(await host.begin(other).ended).toEqual({ kind: 'unloadable', message: 'the artifact has no workflows.mjs' });
    if (!(archive instanceof Uint8Array)) throw new Error('the archive was there');
    await host.artifacts.put(named, archive);
    expect(await host.begin(manifest).ended).toEqual(over);
  });

  test('a task that is killed before its thread has started never starts', async () => {
    const mark = join(freshFolder(), 'mark');
    const host = programsOf();
    const manifest = await host.deploy(
      'dpl_1',
      `import { writeFileSync } from 'node:fs';\n${programOf(`async () => writeFileSync(${JSON.stringify(mark)}, '')`)}`,
    );
    const drive = host.begin(manifest);
    await drive.kill('too late');
    expect(await drive.ended).toEqual({ kind: 'timed_out', message: 'too late', running: [] });
    await host.slots.stop();
    expect(existsSync(mark)).toBe(false);
  });
});

describe('threads', () => {
  test('the least recently used idle thread is evicted', async () => {
    const host = programsOf({ limits: { threads: 2 } });
    const code = programOf(
      `async ({ input, overtaken }) => { globalThis.count = (globalThis.count ?? 0) + 1; console.log('begun'); if (input) await overtaken; return globalThis.count; }`,
    );
    const [a, b, c, d] = await Promise.all(['a', 'b', 'c', 'd'].map((name) => host.deploy(name, code)));
    if (a === undefined || b === undefined || c === undefined || d === undefined) throw new Error('four were deployed');
    const countOf = async (drive: ReturnType<typeof host.begin>) => {
      expect(await drive.ended).toEqual(over);
      return drive.turns.at(-1)?.entries.at(-1);
    };
    const returned = (output: number) => ({ kind: 'returned', output });
    const busy = host.begin(a, { input: 'wait' });
    await expect.poll(() => host.printed.length, patiently).toBe(1);
    for (const [manifest, count] of [
      [b, 1],
      [b, 2],
      [c, 1],
      [d, 1],
      [b, 1],
    ] as const)
      expect(await countOf(host.begin(manifest))).toEqual(returned(count));
    busy.replaceHistory(historyOf());
    expect(await countOf(busy)).toEqual(returned(1));
  });

  test('forward output line by line, with its run', async () => {
    const host = programsOf();
    const manifest = await host.deploy(
      'dpl_1',
      `console.log('loading');\n${programOf(
        `async ({ input, step }) => { await step('one', async () => { await new Promise((done) => setTimeout(done, 5)); console.log(input + '\\n' + input); }); process.stderr.write('end of ' + input); }`,
      )}`,
    );
    await Promise.all([1, 2].map((run) => host.begin(manifest, { run, input: `run ${run}` }).ended));
    const of = (run: number) => ({ deploymentId: 'dpl_1', runId: runIdOf(run) });
    expect(host.printed).toHaveLength(7);
    expect(host.printed).toEqual(
      expect.arrayContaining([
        { deploymentId: 'dpl_1', stream: 'stdout', text: 'loading' },
        ...[1, 2].flatMap((run) => [
          { ...of(run), stream: 'stdout', text: `run ${run}` },
          { ...of(run), stream: 'stderr', text: `end of run ${run}` },
        ]),
      ]),
    );
  });

  test('forward output before an exit, and cut it at the limit', async () => {
    const host = programsOf();
    const manifest = await host.deploy(
      'dpl_1',
      programOf(
        `async () => { for (let i = 0; i < 100; i += 1) console.log('x'.repeat(20000)); console.error('last words'); process.exit(1); }`,
      ),
    );
    await host.begin(manifest).ended;
    expect(host.printed.filter(({ stream }) => stream === 'stdout').reduce((sum, { text }) => sum + text.length, 0)).toBeLessThan(
      300_000,
    );
    expect(host.printed.filter(({ text }) => /output truncated/.test(text))).toHaveLength(1);
    expect(host.printed.at(-1)).toMatchObject({ stream: 'stderr', text: 'last words', runId: runIdOf(1) });
  });
});
