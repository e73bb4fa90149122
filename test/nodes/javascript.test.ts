import { describe, expect, it } from 'vitest';
import { ContextTooLarge } from '../../lib/engine/graph/payload-limits.ts';
import type { JsonObject, JsonValue } from '../../lib/engine/json.ts';
import { type DurationMs, durationMs, seconds } from '../../lib/engine/time.ts';
import type { RunResult } from '../../lib/nodes/runner.ts';
import { createAttemptRunner } from '../../lib/nodes/attempt-runner.ts';
import { createRunners } from '../../lib/nodes/runners.ts';
import { contextOf, found, inputOf, outputOf, planNode, toolsOf } from './given.ts';

const attempt = createAttemptRunner(createRunners());

interface Given {
  readonly context?: JsonObject;
  readonly inputs?: JsonObject;
  readonly timeoutMs?: DurationMs;
  readonly signal?: AbortSignal;
}
const run = (code: string, { context, inputs, timeoutMs = seconds(30), signal }: Given = {}): Promise<RunResult> => {
  const node = planNode('javascript', { code });
  const limited = { ...node, policy: { ...node.policy, timeoutMs } };
  return attempt(limited, inputOf(context, inputs), toolsOf(timeoutMs, signal));
};
const returned = async (code: string, given?: Given): Promise<JsonValue> => {
  const { outcome } = await run(code, given);
  expect(outcome).toMatchObject({ kind: 'finished', handle: 'output' });
  return outputOf(outcome);
};
const failure = async (code: string, given?: Given) => {
  const { outcome } = await run(code, given);
  if (outcome.kind !== 'failed') throw new Error(`it ended as ${JSON.stringify(outcome).slice(0, 200)}`);
  return outcome.failure;
};

describe('a script', () => {
  it.each<[string, JsonValue]>([
    ['return 1 + 1', 2],
    ['return 1 // said behind', 1],
    ['const a = 1', null],
    ['return undefined', null],
    ['return [undefined, -0, 1]', [null, 0, 1]],
    ['return { a: undefined, b: new Date(0) }', { b: '1970-01-01T00:00:00.000Z' }],
    ['return "ünï 😀 \\u2028"', 'ünï 😀 \u2028'],
    ['return ctx.list.map((n) => n * inputs.factor)', [2, 4]],
    ['ctx.list.push(3); return ctx.list.length', 3],
    ['return typeof Date.now() + typeof Math.random()', 'numbernumber'],
    ['const seen = []; queueMicrotask(() => seen.push(1)); return seen', [1]],
    ['return JSON.parse(\'{"__proto__":1}\')', JSON.parse('{"__proto__":1}')],
  ])('%s', async (code, value) => {
    const given = { context: { list: [1, 2] }, inputs: { factor: 2 } };
    expect(JSON.stringify(await returned(code, given))).toBe(JSON.stringify(value));
  });

  it('gets a copy of the context', async () => {
    const context = { list: [1] };
    await returned('ctx.list.push(2); ctx.other = 1; return null', { context });
    expect(context).toEqual({ list: [1] });
    expect(await returned('return ctx.list', { context })).toEqual([1]);
  });

  it.each([
    'return ctx.a + ctx.b',
    'return [ctx.a, ctx.missing, typeof ctx.missing]',
    'return ctx?.a ?? ctx . c',
    'return `${ctx.a}${"ctx.b"}`',
    'ctx.a = 5; ctx.new = ctx.b; return [ctx.a, ctx.new]',
    'delete ctx.a; return [ctx.a, ctx.b]',
    'return Object.keys(ctx)',
    'ctx.a = 1; return ctx',
    'const { a, ...rest } = ctx; return rest',
    'return ["a", "b"].map((key) => ctx[key])',
    'return "b" in ctx',
    'return ctx.hasOwnProperty("b")',
    'return ctx.valueOf()',
    'return JSON.stringify(this.ctx)',
    'return globalThis["c" + "tx"].b',
    'return eval("c" + "tx.b")',
    'return (0, eval)("c" + "tx").b',
    'return (() => 1).constructor("return c" + "tx.b")()',
    String.raw`return c\u0074x.b + ctx.\u0061`,
    'Object.defineProperty(Object.prototype, "all", { get: Object.prototype.valueOf }); return ctx.all',
    'const read = (ctx) => ctx.b; return read({ b: 7 })',
    'return ctx.__node_a.output',
    'return Object.entries(ctx).length + ctx.__node_a.output',
    'return __proto__ === undefined',
  ])('finds in ctx what it would find in the whole: %s', async (code) => {
    const context = { a: 1, b: 'two', c: [3], __node_a: { status: 'completed', output: 4 } };
    const whole = {
      ...contextOf(context),
      all: (options?: { readonly hidden: boolean }) => contextOf(context).all({ hidden: options?.hidden === true }),
    };
    const node = planNode('javascript', { code });
    const [some, all] = await Promise.all(
      [contextOf(context), whole].map((view) => attempt(node, { ...inputOf(), context: view }, toolsOf())),
    );
    expect(some?.outcome).toEqual(all?.outcome);
    expect(some?.outcome.kind).toBe('finished');
  });

  it('does not read the variables that its text does not name', async () => {
    const context = contextOf({ small: 1 });
    const large = { ...context, keys: () => ['small', 'large'] };
    const all: typeof context.all = (options) => {
      if (options?.names?.has('large') !== false) throw new ContextTooLarge(1e9);
      return context.all(options);
    };
    const ended = async (code: string) =>
      (await attempt(planNode('javascript', { code }), { ...inputOf(), context: { ...large, all } }, toolsOf())).outcome;
    expect(outputOf(await ended('return ctx.small'))).toBe(1);
    for (const code of ['return ctx.large', 'return ctx'])
      expect(await ended(code)).toMatchObject({ kind: 'failed', failure: { code: 'context_too_large' } });
  });

  it('starts in a new machine without state of the previous script', async () => {
    await returned('globalThis.left = 1; Array.prototype.map = () => "mine"; return null');
    expect(await returned('return [typeof left, [1].map((n) => n)]')).toEqual(['undefined', [1]]);
  });

  it('gets internal context names only if it mentions one', async () => {
    const context = { a: 1, __node_x: { output: 2 } };
    expect(await returned('return Object.keys(ctx)', { context })).toEqual(['a']);
    expect(await returned('return ctx.__node_x.output', { context })).toBe(2);
  });

  it('a toJSON of the result affects only the result', async () => {
    expect(await returned('JSON.stringify = () => "[]"; String.prototype.slice = null; return { a: 1 }')).toEqual({ a: 1 });
  });

  it.each([
    ['a name that does not exist', 'return missing.id', 'ReferenceError'],
    ['a value without the method', 'return ctx.nothing.map(String)', 'TypeError'],
    ['text that is no JSON', 'return JSON.parse("{")', 'SyntaxError'],
    ['one that it made', 'throw new TypeError("no such order")', 'TypeError'],
    ['one in a microtask', 'queueMicrotask(() => missing()); return 1', 'ReferenceError'],
  ])('with a mistake is not retried unless the policy says so: %s', async (_what, code, name) => {
    const { cause, code: errorCode, message } = await failure(code);
    expect([cause, errorCode, message.split(':')[0]]).toEqual(['code_error', 'script_threw', name]);
    expect(planNode('javascript', { code }).policy.retry.retryOn).not.toContain('code_error');
    const chosen = planNode('javascript', { code, retry: { retryOn: ['code_error'] } });
    expect(chosen.policy.retry.retryOn).toEqual(['code_error']);
  });

  it.each([
    'throw new Error("busy")',
    'throw new RangeError("busy")',
    'throw "busy"',
    'class Busy extends TypeError {}; throw new Busy("x")',
  ])('that decides to fail may be retried: %s', async (code) => expect((await failure(code)).cause).toBe('error'));

  it('that throws fails with its message and location', async () => {
    expect(await failure('throw new TypeError("no such order")')).toEqual({
      cause: 'code_error',
      code: 'script_threw',
      message: 'TypeError: no such order',
      details: { line: 1, column: 11 },
    });
    expect(await failure('const a = 1;\n\n  ctx.none.b')).toMatchObject({ details: { line: 3 } });
    expect(await failure('throw "just text"')).toMatchObject({ message: 'just text was thrown' });
    expect(await failure('throw null')).toMatchObject({ message: 'null was thrown' });
    expect(await failure('throw Symbol("x")')).toMatchObject({ code: 'script_threw' });
    expect(await failure('queueMicrotask(() => { throw new Error("later") })')).toMatchObject({ message: 'Error: later' });
  });

  it('with a syntax error that validation missed fails', async () => {
    const node = { ...planNode('javascript', { code: 'return 1' }), config: { code: 'return (' } };
    expect((await attempt(node, inputOf(), toolsOf())).outcome).toMatchObject({ kind: 'failed' });
  });
});

describe('what a script prints', () => {
  it('is stored line by line', async () => {
    const { printed } = await run('console.log("a", 1, { b: [2] }, null, undefined); console.error(new Error("c")); return 1');
    expect(printed).toEqual(['a 1 {"b":[2]} null undefined', 'Error: c']);
  });

  it('is stored when the script fails or times out', async () => {
    expect((await run('console.log("before"); throw new Error("x")')).printed).toEqual(['before']);
    const { printed } = await run('console.log("before"); for (;;);', { timeoutMs: durationMs(50) });
    expect(printed).toEqual(['before']);
  });

  it('ends at 200 lines', async () => {
    const { printed } = await run('for (let i = 0; i < 1000; i += 1) console.log(i)');
    expect(printed).toHaveLength(200);
    expect(printed.at(-2)).toBe('198');
    expect(printed.at(-1)).toContain('more was printed');
  });

  it('ends at 16 KB', async () => {
    const { printed } = await run('for (let i = 0; i < 100; i += 1) console.log("é".repeat(500)); console.log("x".repeat(3e7))');
    expect(Buffer.byteLength(printed.join(''))).toBeLessThanOrEqual(16_384);
    expect(printed.length).toBeGreaterThan(10);
  });

  it('never breaks the script', async () => {
    const code = `const a = {}; a.a = a; console.log(a, Symbol("s"), 1n, () => 1, { toJSON() { throw 1 }, toString() { throw 2 } }); return 1`;
    expect(await returned(code)).toBe(1);
  });
});

describe('a result that cannot be stored is rejected and not retried', () => {
  it.each([
    ['return () => 1', 'output_invalid', 'a function'],
    ['return { list: [{ f() {} }] }', 'output_invalid', '/list/0/f a function'],
    ['return { "a/b": [NaN] }', 'output_invalid', '/a~1b/0 NaN'],
    ['return { a: [1, -Infinity] }', 'output_invalid', '/a/1 -Infinity'],
    ['return 1 / 0', 'output_invalid', 'is Infinity'],
    ['let a = 1; for (let i = 0; i < 101; i += 1) a = [a]; return a', 'output_too_deep', '100 levels'],
    ['let a = 1; for (let i = 0; i < 2e5; i += 1) a = [a]; return a', 'output_too_deep', '100 levels'],
    ['let n = 0; const deeper = () => ({ toJSON: () => ({ a: deeper() }) }); return deeper()', 'output_too_deep', '100 levels'],
    ['return Symbol("a")', 'output_invalid', 'a symbol'],
    ['return 10n', 'output_invalid', 'a BigInt'],
    ['return { n: 10n }', 'output_invalid', '/n a BigInt'],
    ['return Promise.resolve(1)', 'output_invalid', 'a promise'],
    ['return (async () => 1)()', 'output_invalid', 'a promise'],
    ['const a = {}; a.self = a; return a', 'output_invalid', 'circular'],
    ['return { toJSON() { throw new Error("never") } }', 'output_invalid', 'never'],
    ['return { get a() { throw null } }', 'output_invalid', 'null'],
    ['return "x".repeat(20e6)', 'output_too_large', '1048576'],
    ['return "é".repeat(600000)', 'output_too_large', '1048576'],
    ['return Array.from({ length: 600000 }, () => 1)', 'output_too_large', '1048576'],
  ])('%s', async (code, fault, words) => {
    const given = await failure(code);
    expect(given).toMatchObject({ cause: 'invalid', code: fault });
    expect(given.message).toContain(words);
  });

  it('the largest allowed result is stored', async () => {
    expect(await returned('return "x".repeat(1048574)')).toHaveLength(1_048_574);
    expect(await failure('return "x".repeat(1048575)')).toMatchObject({ code: 'output_too_large' });
  });
});

describe('a script that would never end is stopped at its limit', () => {
  const short = { timeoutMs: durationMs(50) };
  const stopped = { cause: 'timeout', code: 'script_timeout', details: { timeoutMs: 50 } };
  it.each([
    'for (;;);',
    'for (;;) { try { for (;;); } catch {} }',
    'try { for (;;); } finally { for (;;); }',
    'const again = () => Promise.resolve().then(again); again(); return 1',
    'const again = () => queueMicrotask(again); again(); return 1',
    '/(a+)+$/.test("a".repeat(40) + "b")',
    '[3, 2, 1].sort(() => { for (;;); })',
    'return { toJSON() { for (;;); } }',
    'throw { toJSON() { for (;;); } }',
    'throw { get name() { for (;;); }, __proto__: new Error() }',
    'const e = new Error("m"); Object.defineProperty(e, "stack", { get() { for (;;); } }); throw e',
    'const again = { then(done) { done(again) } }; Promise.resolve(again); return 1',
    'return new Proxy([], { get() { for (;;); } })',
  ])('%s', async (code) => {
    expect(await failure(code, short)).toMatchObject(stopped);
  });

  // These loop inside QuickJS's own functions, which look at no interrupt: only the end of their thread ends them.
  it.each([
    'Array.prototype.reverse.call({ length: 2 ** 53 - 1 })',
    'const a = []; a.length = 2 ** 32 - 1; a.sort()',
    'String.raw({ raw: { length: 2 ** 53 - 1 } })',
    '(3n ** 600000n).toString()',
    '("a".repeat(2e7)).indexOf("a".repeat(1e7) + "b")',
    'return Object.assign([], { length: 2 ** 32 - 1 })',
  ])('%s', async (code) => {
    expect(await failure(code, short)).toMatchObject(stopped);
  });

  it('the next script runs normally', async () => {
    await failure('Array.prototype.reverse.call({ length: 2 ** 53 - 1 })', short);
    expect(await returned('return 1')).toBe(1);
  });

  it('the event loop and other scripts continue', async () => {
    const endless = failure('for (;;);', { timeoutMs: seconds(1) });
    const beside = await Promise.all([returned('return 1'), returned('return 2'), returned('return 3')]);
    expect(beside).toEqual([1, 2, 3]);
    expect(await endless).toMatchObject({ cause: 'timeout' });
  });

  it('a script of a cancelled run has no outcome', async () => {
    const stop = new AbortController();
    const endless = run('Array.prototype.reverse.call({ length: 2 ** 53 - 1 })', { signal: stop.signal });
    stop.abort(new Error('cancelled'));
    await expect(endless).rejects.toThrow('cancelled');
    await expect(run('return 1', { signal: stop.signal })).rejects.toThrow('cancelled');
  });
});

describe('a script that exceeds a limit', () => {
  it.each([
    ['const a = []; for (;;) a.push(new Array(100000).fill("x"))', 'memory_exceeded'],
    ['return "x".repeat(1e9)', 'memory_exceeded'],
    ['let s = "x"; for (;;) s += s', 'memory_exceeded'],
    ['return new Uint8Array(1e9)', 'memory_exceeded'],
    ['const f = () => f() + 1; return f()', 'recursion_exceeded'],
    ['return JSON.parse("[".repeat(1e5) + "]".repeat(1e5))', 'recursion_exceeded'],
    ['let a = []; for (let i = 0; i < 2e5; i += 1) a = [a]; return String(a)', 'recursion_exceeded'],
    ['return "x".padEnd(2 ** 30)', 'memory_exceeded'],
  ])('%s: %s', async (code, fault) => {
    expect(await failure(code)).toMatchObject({ cause: 'error', code: fault });
  });

  it.each([
    'throw new Error("out of memory")',
    'throw new RangeError("Maximum call stack size exceeded")',
    'throw new InternalError("out of memory")',
    'throw InternalError("out of memory")',
    'throw Object.assign(Object.create(InternalError.prototype), { message: "out of memory" })',
    'throw new (class extends RangeError {})("invalid string length")',
    'throw Object.setPrototypeOf(new TypeError("out of memory"), InternalError.prototype)',
    'throw new (Object.getPrototypeOf(RangeError))("out of memory")',
    'throw "out of memory"',
    'throw { message: "string too long" }',
    'queueMicrotask(() => { throw new Error("out of memory") })',
  ])('is reported by QuickJS, and cannot be forged: %s', async (code) => {
    expect(await failure(code)).toMatchObject({ cause: 'error', code: 'script_threw' });
  });

  it('may catch the error and continue', async () => {
    expect(await returned('try { "x".repeat(1e9) } catch (e) { return "caught" }')).toBe('caught');
  });

  it('does not exceed memory because of a large context', async () => {
    const context = { big: 'x'.repeat(15_000_000) };
    expect(await failure('return ctx.big.repeat(9)', { context })).toMatchObject({ code: 'memory_exceeded' });
  });

  it('does not run with a context above the limit', async () => {
    const context = { big: 'x'.repeat(40_000_000) };
    expect(await failure('return ctx.big + ctx.big', { context })).toMatchObject({ code: 'context_too_large', cause: 'invalid' });
  });
});

describe('a script that throws unusual values', () => {
  const deep = '"json:" + "[".repeat(20000) + "]".repeat(20000)';
  it.each<[string, Record<string, unknown>]>([
    [
      `const e = new Error('m'); e.stack = '(script.js:' + '9'.repeat(400) + ':1)'; throw e`,
      { code: 'script_threw', message: 'Error: m' },
    ],
    [`const e = new Error('m'); e.stack = '(script.js:99999:1)'; throw e`, { code: 'script_threw', message: 'Error: m' }],
    [`return { toJSON() { throw { reason: ${deep} } } }`, { cause: 'invalid', code: 'output_invalid' }],
    ['return { toJSON() { throw { reason: "json:{}" } } }', { cause: 'invalid', code: 'output_invalid' }],
    ['return { toJSON() { throw { reason: "nothing" } } }', { cause: 'invalid', code: 'output_invalid' }],
    ['return { toJSON() { throw "refused:{}" } }', { cause: 'invalid', code: 'output_invalid' }],
    ['throw { get message() { throw this } }', { code: 'script_threw' }],
    ['throw new Proxy({}, { get() { throw 1 }, getPrototypeOf() { throw 2 } })', { code: 'script_threw' }],
    [
      'throw new Proxy(new Error("x"), { getPrototypeOf: () => InternalError.prototype, get: () => "out of memory" })',
      { code: 'script_threw' },
    ],
    ['throw Object.create(null)', { code: 'script_threw', message: '{} was thrown' }],
    ['const e = new Error("m"); e.name = { toString() { throw 1 } }; throw e', { code: 'script_threw' }],
    [
      'Error.prototype.toString = 1; Object.defineProperty(Error.prototype, "name", { get() { throw 1 } }); null.x',
      { code: 'script_threw' },
    ],
    ['throw "x".repeat(1e6)', { code: 'script_threw', message: `${'x'.repeat(2_000)}` }],
  ])('%s', async (code, expected) => {
    const given = await failure(code);
    expect(given).toMatchObject(expected);
    expect(given).not.toHaveProperty('details.line', Infinity);
  });
});

describe('a script cannot escape', () => {
  const nothing = 'undefined,undefined,undefined,undefined,undefined';
  const look = 'typeof process + "," + typeof require + "," + typeof fetch + "," + typeof WebAssembly + "," + typeof setTimeout';
  it.each([
    `return ${look}`,
    `return this.constructor.constructor('return ${look}')()`,
    `return (() => {}).constructor('return ${look}')()`,
    `return console.log.constructor('return ${look}')()`,
    `return Object.getPrototypeOf(async () => 1).constructor && Function('return ${look}')()`,
    `return ctx.constructor.constructor('return ${look}')()`,
    `return [].constructor.constructor('return ${look}')()`,
    `try { null.x } catch (e) { return e.constructor.constructor('return ${look}')() }`,
    `try { (function f() { f() })() } catch (e) { return e.constructor.constructor('return ${look}')() }`,
    `Error.prepareStackTrace = (e, frames) => frames; return new Error().stack && (0, eval)('${look}')`,
    `return new Proxy(() => {}, {}).constructor('return ${look}')()`,
    `class P extends Promise { static get [Symbol.species]() { return Function } } try { P.resolve(1).then(() => 1) } catch {} return ${look}`,
    `return Reflect.construct(Function, ['return ${look}'])()`,
  ])('%s', async (code) => {
    const { outcome } = await run(code);
    expect(outputOf(outcome)).toBe(nothing);
  });

  it.each(['import("node:fs")', '(0, eval)("import(\'node:fs\')")', 'Function("return import(\'node:fs\')")()'])(
    '%s brings nothing',
    async (code) => {
      const { printed } = await run(`${code}.then((got) => console.log(typeof got), () => console.log("refused"))`);
      expect(printed).toEqual(['refused']);
    },
  );

  it('has only the globals of the language', async () => {
    const names = await returned('return Object.getOwnPropertyNames(globalThis)');
    const host = ['std', 'os', 'print', 'scriptArgs', 'Worker', 'global', 'globalThis.process', 'navigator', 'WebAssembly'];
    expect(Array.isArray(names) ? names.filter((name) => host.includes(String(name))) : names).toEqual([]);
  });

  it('cannot change the host', async () => {
    await run('Object.prototype.polluted = 1; return JSON.parse(\'{"__proto__":{"polluted":1}}\')');
    expect(Reflect.get({}, 'polluted')).toBeUndefined();
  });
});

describe('code is checked at validation', () => {
  it.each([
    ['return (', 'code_invalid'],
    ['const a = await fetch("https://example.com"); return a', 'code_invalid'],
    ['import fs from "node:fs"', 'code_invalid'],
    ['export default 1', 'code_invalid'],
    ['}); (function () {', 'code_invalid'],
    ['const a = 1; const a = 2;', 'code_invalid'],
    ['', 'config_invalid'],
    ['  \n', 'config_invalid'],
  ])('%j', (code, finding) => {
    expect(found('javascript', { code })).toEqual([`${finding} /nodes/0/config/code`]);
  });

  it.each(['return 1', 'return async () => await 1', 'if (ctx.a) return 1\nreturn 2', 'for (const a of ctx.list) { continue }'])(
    '%j is fine',
    (code) => {
      expect(found('javascript', { code })).toEqual([]);
    },
  );
});
