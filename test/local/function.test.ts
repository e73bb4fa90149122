import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { afterEach, describe, expect, test } from 'vitest';
import { createGatewayPorts } from '../../lib/local/aws/gateway-ports.ts';
import { createFunction, type FunctionSettings, type LambdaFunction } from '../../lib/local/lambda/function.ts';
import { freshFolder } from './stacks.ts';

const running: LambdaFunction[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map((one) => one.stop(0)));
});

/** A function with this module, and its output. */
function make(
  source: string,
  {
    data: moreData,
    ...more
  }: Partial<Omit<FunctionSettings, 'data'>> & { readonly data?: Partial<FunctionSettings['data']> } = {},
) {
  const folder = freshFolder();
  mkdirSync(folder, { recursive: true });
  const module = join(folder, 'index.mjs');
  writeFileSync(module, source);
  const printed: string[] = [];
  const warned: string[] = [];
  const data = {
    module: pathToFileURL(module).href,
    handler: 'handler',
    functionName: 'fn',
    functionArn: 'arn:fn',
    memoryMb: 256,
    logGroup: '/fn',
    ...moreData,
  };
  const fn = createFunction({
    name: 'fn',
    arn: 'arn:fn',
    data,
    environment: { GREETING: 'hello' },
    timeoutMs: 10_000,
    concurrency: 4,
    isReserved: false,
    recursiveLoop: 'Terminate',
    print: (text) => void printed.push(text),
    warn: (line) => void warned.push(line),
    onInvoked: () => {},
    ...more,
  });
  running.push(fn);
  return { fn, printed, warned };
}

const payloadOf = (outcome: Awaited<ReturnType<LambdaFunction['invoke']>>): unknown => {
  expect(outcome.kind).toBe('returned');
  return outcome.kind === 'returned' ? JSON.parse(outcome.payload) : undefined;
};

describe('a function', { timeout: 20_000 }, () => {
  test('a stream that is open when the function stops ends without the whole grace period, and is no failure', async () => {
    const { fn, warned } = make(`export const handler = awslambda.streamifyResponse(async (event, stream) => {
      stream.write('first');
      await new Promise(() => setInterval(() => {}, 1_000));
    });`);
    const graceMs = 60_000;
    let began: () => void = () => {};
    const beginning = new Promise<void>((resolve) => (began = resolve));
    const invocation = fn.invoke('{}', { onChunk: async () => began() });
    await beginning;
    await fn.stop(graceMs);
    expect(await invocation).toMatchObject({ kind: 'failed' });
    expect(warned).toEqual([]);
  });

  test('gets its event, its variables and its context, and nothing of the surrounding process', async () => {
    const { fn } = make(`export const handler = async (event, context) => ({
      event, greeting: process.env.GREETING, path: process.env.PATH ?? null, name: context.functionName, hasTime: context.getRemainingTimeInMillis() > 5000 })`);
    expect(payloadOf(await fn.invoke('{"a":1}'))).toEqual({
      event: { a: 1 },
      greeting: 'hello',
      path: null,
      name: 'fn',
      hasTime: true,
    });
  });

  test('reaches the gateway over a port, and is answered also after many requests at once', async () => {
    const ports = createGatewayPorts(
      async ({ url, body }) => ({ status: 200, headers: {}, body: Buffer.from(`${url} ${body.toString()}`) }),
      () => {},
    );
    const source = `export const handler = async ({ count }) => {
      const transport = globalThis[Symbol.for('stepwell:call-transport')];
      const headers = ['host', '127.0.0.1:1'];
      const send = async (body) => (await transport.send({ method: 'POST', url: '/?a=1', headers, body })).body;
      const answers = await Promise.all(Array.from({ length: count }, (_one, number) => send('ü' + number)));
      return answers.map((bytes) => new TextDecoder().decode(bytes));
    }`;
    const { fn } = make(source, { openGatewayPort: () => ports.open() });
    const expected = Array.from({ length: 50 }, (_one, number) => `/?a=1 ü${number}`);
    expect(payloadOf(await fn.invoke('{"count":50}'))).toEqual(expected);
    expect(payloadOf(await fn.invoke('{"count":1}'))).toEqual(expected.slice(0, 1));
  });

  test('is loaded once per thread, and threads are reused', async () => {
    const { fn } = make('let count = 0; export const handler = async () => ++count;');
    await fn.invoke('{}');
    expect(payloadOf(await fn.invoke('{}'))).toBe(2);
  });

  test('has its own temporary folder, which is deleted with its thread', async () => {
    const ephemeral = join(freshFolder(), 'ephemeral');
    const source = `import { writeFileSync } from 'node:fs'; import { tmpdir } from 'node:os';
      export const handler = async ({ exit }) => { writeFileSync(tmpdir() + '/left', ''); if (exit) process.exit(1); return tmpdir(); }`;
    const { fn } = make(source, { ephemeral });
    const folders = (await Promise.all([fn.invoke('{}'), fn.invoke('{}')])).map(payloadOf);
    expect(new Set(folders).size).toBe(2);
    expect(readdirSync(ephemeral)).toHaveLength(2);
    await fn.invoke('{"exit":true}');
    expect(readdirSync(ephemeral)).toHaveLength(1);
    await fn.stop(0);
    expect(readdirSync(ephemeral)).toEqual([]);
  });

  /** One temporary folder for each thread. */
  const threadCount = (ephemeral: string): number => readdirSync(ephemeral).length;
  const idleSource = 'export const handler = async () => {};';

  test('ends each thread that is idle, and starts one for the next invocation', async () => {
    const ephemeral = join(freshFolder(), 'ephemeral');
    const { fn } = make(idleSource, { ephemeral, idleTimes: { threadMs: 50, keptMs: 50 } });
    await Promise.all([fn.invoke('{}'), fn.invoke('{}'), fn.invoke('{}')]);
    await expect.poll(() => threadCount(ephemeral), { timeout: 10_000 }).toBe(0);
    expect(payloadOf(await fn.invoke('{}'))).toBeNull();
  });

  test('that people wait for keeps its last thread for longer, once it has answered', async () => {
    const ephemeral = join(freshFolder(), 'ephemeral');
    const { fn } = make(idleSource, { ephemeral, idleTimes: { threadMs: 50, keptMs: 1_000_000 } });
    fn.keepLoaded();
    expect(threadCount(ephemeral)).toBe(1);
    await expect.poll(() => threadCount(ephemeral), { timeout: 10_000 }).toBe(0);
    await Promise.all([fn.invoke('{}'), fn.invoke('{}'), fn.invoke('{}')]);
    await expect.poll(() => threadCount(ephemeral), { timeout: 10_000 }).toBe(1);
    await wait(200);
    expect(threadCount(ephemeral)).toBe(1);
  });

  test('collects the garbage of a thread that pauses', async () => {
    const source = `const freed = []; const registry = new FinalizationRegistry((name) => freed.push(name));
      export const handler = async ({ name }) => { if (name) registry.register({}, name); return freed; };`;
    const { fn } = make(source, { data: { idlePauseMs: 100 } });
    await fn.invoke('{"name":"garbage"}');
    await expect.poll(async () => payloadOf(await fn.invoke('{}')), { interval: 400, timeout: 10_000 }).toEqual(['garbage']);
  });

  test('that throws is reported with the error’s name, and its thread stays usable', async () => {
    const { fn, warned, printed } = make(
      `let count = 0; export const handler = async () => { count++; if (count === 1) throw new RangeError('too far'); return count; }`,
    );
    expect(await fn.invoke('{}')).toMatchObject({ kind: 'failed', error: { errorType: 'RangeError', errorMessage: 'too far' } });
    expect(warned).toEqual(['fn: RangeError: too far']);
    expect(payloadOf(await fn.invoke('{}'))).toBe(2);
    expect(printed.join('')).toContain('RangeError: too far');
  });

  test('that exits gets a new thread for the next event', async () => {
    const { fn } = make(
      `let count = 0; export const handler = async (event) => { count++; if (event.die) process.exit(7); return count; }`,
    );
    await fn.invoke('{}');
    expect(await fn.invoke('{"die":true}')).toMatchObject({ kind: 'failed', error: { errorType: 'Runtime.ExitError' } });
    expect(payloadOf(await fn.invoke('{}'))).toBe(1);
  });

  test('that crashes outside its promise gets a new thread', async () => {
    const { fn } = make(
      `export const handler = (event) => new Promise((resolve) => setTimeout(() => { if (event.crash) throw new Error('loose'); resolve('fine'); }, 1));`,
    );
    expect(await fn.invoke('{"crash":true}')).toMatchObject({ kind: 'failed', error: { errorType: 'Runtime.ExitError' } });
    expect(payloadOf(await fn.invoke('{}'))).toBe('fine');
  });

  test('that times out is ended, even in an endless loop', async () => {
    const { fn } = make('export const handler = async (event) => { while (event.forever); return 1; }', { timeoutMs: 200 });
    await fn.invoke('{}');
    const outcome = await fn.invoke('{"forever":true}');
    expect(outcome).toMatchObject({ kind: 'failed', error: { errorType: 'Sandbox.Timedout' } });
    expect(outcome.kind === 'failed' && outcome.error.errorMessage).toMatch(
      /^RequestId: \S+ Error: Task timed out after 0.20 seconds$/,
    );
    expect(payloadOf(await fn.invoke('{}'))).toBe(1);
  });

  test('whose module loads for too long loads within the timeout of its invocation, as in Lambda', async () => {
    const source = 'await new Promise((resolve) => setTimeout(resolve, 300)); export const handler = async () => 1;';
    const { fn } = make(source, { loadTimeoutMs: 10 });
    expect(payloadOf(await fn.invoke('{}'))).toBe(1);
  });

  test('that never loads fails at the timeout of its invocation', async () => {
    const { fn } = make('setInterval(() => {}, 1_000); await new Promise(() => {}); export const handler = 1;', {
      loadTimeoutMs: 10,
      timeoutMs: 100,
    });
    const error = { errorType: 'Sandbox.Timedout', errorMessage: 'The function took too long to load' };
    expect(await fn.invoke('{}')).toEqual({ kind: 'failed', error });
  });

  test('that cannot be loaded fails every event with the reason', async () => {
    const { fn } = make("throw new Error('no way'); export const handler = 1;");
    expect(await fn.invoke('{}')).toMatchObject({ kind: 'failed', error: { errorMessage: 'no way' } });
    expect(await make('export const other = 1;').fn.invoke('{}')).toMatchObject({
      error: { errorType: 'Runtime.HandlerNotFound' },
    });
  });

  test('runs events up to its concurrency, and the others afterwards', async () => {
    const { fn } = make(
      `import { threadId } from 'node:worker_threads';
      export const handler = async () => { await new Promise((r) => setTimeout(r, 30)); return threadId; }`,
      { concurrency: 2 },
    );
    const outcomes = await Promise.all([1, 2, 3, 4, 5].map(() => fn.invoke('{}')));
    expect(new Set(outcomes.map(payloadOf)).size).toBe(2);
  });

  test('with a reserved concurrency refuses the next invocation', async () => {
    const { fn } = make('export const handler = () => new Promise((r) => setTimeout(() => r(1), 100));', {
      concurrency: 1,
      isReserved: true,
    });
    const [first, second] = await Promise.all([fn.invoke('{}'), fn.invoke('{}')]);
    expect([first.kind, second.kind]).toEqual(['returned', 'refused']);
    expect(second).toMatchObject({ code: 'TooManyRequestsException' });
  });

  test('is refused where the account has no concurrency left, and otherwise waits for a thread', async () => {
    const account = { concurrency: 3, running: 0 };
    const source = 'export const handler = () => new Promise((r) => setTimeout(() => r(1), 200));';
    let throttles = 0;
    const shared = { account, concurrency: 1, onThrottled: () => void (throttles += 1) };
    const [one, other] = [make(source, shared).fn, make(source, shared).fn];
    const outcomes = await Promise.all([one, other, one, other, one].map((fn) => fn.invoke('{}')));
    expect(outcomes.map(({ kind }) => kind)).toEqual(['returned', 'returned', 'returned', 'refused', 'refused']);
    expect([throttles, account.running]).toEqual([2, 0]);
    expect((await one.invoke('{}')).kind).toBe('returned');
    const reserved = make(source, { account: { concurrency: 0, running: 0 }, concurrency: 1, isReserved: true }).fn;
    expect((await reserved.invoke('{}')).kind).toBe('returned');
  });

  test('accepts and returns at most six megabytes', async () => {
    const { fn } = make("export const handler = async (event) => 'x'.repeat(event.bytes ?? 1);");
    expect(await fn.invoke(JSON.stringify('x'.repeat(6_291_456)))).toMatchObject({
      kind: 'refused',
      code: 'RequestTooLargeException',
    });
    expect((await fn.invoke('{"bytes":6291454}')).kind).toBe('returned');
    expect(await fn.invoke('{"bytes":6291455}')).toMatchObject({ error: { errorType: 'Function.ResponseSizeTooLarge' } });
  });

  test('streams chunk by chunk, with its prelude before the first chunk', async () => {
    const { fn } = make(`export const handler = awslambda.streamifyResponse(async (event, stream, context) => {
      const out = awslambda.HttpResponseStream.from(stream, { statusCode: 201, headers: { a: 'b' } });
      out.write('one'); out.write('two'); out.end(); });`);
    const pieces: string[] = [];
    const types = new Set<string | undefined>();
    const outcome = await fn.invoke('{}', {
      onChunk: async (bytes, type) => {
        pieces.push(Buffer.from(bytes).toString());
        types.add(type);
      },
    });
    expect(outcome.kind).toBe('streamed');
    expect(pieces).toEqual(['{"statusCode":201,"headers":{"a":"b"}}\0\0\0\0\0\0\0\0one', 'two']);
    expect([...types]).toEqual(['application/vnd.awslambda.http-integration-response']);
  });

  test('that streams without a body still sends its prelude', async () => {
    const { fn } = make(`export const handler = awslambda.streamifyResponse(async (event, stream) => {
      awslambda.HttpResponseStream.from(stream, { statusCode: 204 }).end(); });`);
    const pieces: string[] = [];
    await fn.invoke('{}', { onChunk: async (bytes) => void pieces.push(Buffer.from(bytes).toString()) });
    expect(pieces).toEqual(['{"statusCode":204}\0\0\0\0\0\0\0\0']);
  });

  test('that streams waits for a slow reader', async () => {
    const { fn } = make(`export const handler = awslambda.streamifyResponse(async (event, stream) => {
      for (let i = 0; i < 5; i++) await new Promise((r) => stream.write(String(i), r)); stream.end(); });`);
    let open = 0;
    let most = 0;
    await fn.invoke('{}', {
      onChunk: async () => {
        open++;
        most = Math.max(most, open);
        await new Promise((resolve) => setTimeout(resolve, 5));
        open--;
      },
    });
    expect(most).toBe(1);
  });

  describe('in a chain of requests', () => {
    const source = `let last; export const handler = async () => process.env._X_AMZN_TRACE_ID;`;
    const traceOf = async (fn: LambdaFunction, ...traceHeaders: string[]) =>
      String(payloadOf(await fn.invoke('{}', { traceHeaders })));

    test('has a separate trace header for each invocation, which continues that of its cause', async () => {
      const { fn } = make(source);
      const first = await traceOf(fn);
      expect(first).toMatch(/^Root=1-[0-9a-f]{8}-[0-9a-f]{24};Parent=[0-9a-f]{16};Sampled=0;Lineage=[0-9a-f]{8}:1$/);
      const [root, parent] = first.split(';');
      const next = await traceOf(fn, first);
      expect(next.split(';')[0]).toBe(root);
      expect(next.split(';')[1]).not.toBe(parent);
      expect(next).toMatch(/:2$/);
      expect((await traceOf(fn)).split(';')[0]).not.toBe(root);
    });

    test('is invoked 16 times, and refused the 17th time', async () => {
      const { fn } = make(source);
      let trace = await traceOf(fn);
      for (let more = 2; more <= 16; more++) trace = await traceOf(fn, trace);
      expect(await fn.invoke('{}', { traceHeaders: [trace] })).toEqual({
        kind: 'refused',
        code: 'RecursiveInvocationException',
        message: 'fn: this would be invocation 17 in one chain of requests, and RecursiveLoop of the function is Terminate',
      });
      expect(payloadOf(await fn.invoke('{}'))).toMatch(/:1$/);
    });

    test('with RecursiveLoop Allow is invoked without a limit', async () => {
      const { fn } = make(source, { recursiveLoop: 'Allow' });
      let trace = await traceOf(fn);
      for (let more = 2; more <= 20; more++) trace = await traceOf(fn, trace);
      expect(trace).toMatch(/:20$/);
    });

    test('continues every chain of its batch, with the highest count of each function', async () => {
      const { fn } = make(source);
      const header = await traceOf(
        fn,
        'Root=1-a-b;Lineage=aaaaaaaa:3|bbbbbbbb:1',
        'Root=1-c-d;Lineage=bbbbbbbb:5',
        'no header',
        'Root=;Lineage=cccccccc:-1|x',
      );
      expect(header).toMatch(/^Root=1-a-b;.*;Lineage=aaaaaaaa:3\|bbbbbbbb:5\|[0-9a-f]{8}:1$/);
    });
  });
});
