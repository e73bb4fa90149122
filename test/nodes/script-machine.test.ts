import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { durationMs, seconds } from '../../lib/engine/time.ts';
import { engineFile } from '../../lib/nodes/sandbox/engine-files.ts';
import { ScriptMachine } from '../../lib/nodes/sandbox/script-machine.ts';
import type { Script } from '../../lib/nodes/sandbox/script.ts';
import { createScriptRunner } from '../../lib/nodes/sandbox/virtual-machine.ts';

const bytes = readFileSync(engineFile());
const wasm = await WebAssembly.compile(bytes);
const memoryBytes = 64 * 1024 * 1024;
const script = (code: string, rest: Partial<Script> = {}): Script => ({
  code,
  context: '{}',
  inputs: '{}',
  timeoutMs: seconds(30),
  memoryBytes,
  ...rest,
});
const hooks = { shouldStop: () => false, print: () => undefined };

const outputOf = async (run: ReturnType<typeof createScriptRunner>, code: string): Promise<unknown> => {
  const end = await run(script(code));
  if (end.kind !== 'returned') throw new Error(JSON.stringify(end));
  return JSON.parse(end.output);
};

describe('a script in a machine that ran another one', () => {
  it.each([
    ['a global', 'globalThis.left = 1', 'typeof left'],
    ['a changed prototype', 'Array.prototype.map = () => "mine"; Object.prototype.left = 1', '[[1].map((n) => n), ({}).left]'],
    [
      'a registered symbol',
      'Symbol.for("left").description; globalThis[Symbol.for("left")] = 1',
      'globalThis[Symbol.for("left")]',
    ],
    [
      'a replaced intrinsic',
      'JSON.stringify = null; Error = null; Math.random = () => 7',
      '[typeof JSON.stringify, typeof Error, Math.random() < 1]',
    ],
    ['a microtask', 'const again = () => queueMicrotask(again); queueMicrotask(() => { globalThis.left = 1; })', 'typeof left'],
    ['the match of a regular expression', '/(left)/.exec("left")', 'RegExp.$1 ?? null'],
  ])('finds nothing of it: %s', async (_what, first, second) => {
    const [used, unused] = [createScriptRunner(wasm), createScriptRunner(wasm)];
    await outputOf(used, `${first}; return null`);
    expect(await outputOf(used, `return ${second}`)).toEqual(await outputOf(unused, `return ${second}`));
  });

  it('finds nothing of a script that was interrupted in a microtask', async () => {
    const run = createScriptRunner(wasm);
    const endless = script('const again = () => queueMicrotask(again); again(); globalThis.left = 1', {
      timeoutMs: durationMs(50),
    });
    expect(await run(endless)).toMatchObject({ kind: 'stopped', errorCode: 'script_timeout' });
    expect(await outputOf(run, 'return typeof left')).toBe('undefined');
  });

  it('has the memory of a new machine, except for the state of the random numbers', async () => {
    const machine = await ScriptMachine.create(wasm, memoryBytes);
    machine.begin(hooks);
    const before = machine.machine.snapshot().memory;
    machine.machine.evalCode('globalThis.left = "a secret ".repeat(1_000); Math.random()');
    expect(machine.hasGrown()).toBe(false);
    expect(Buffer.from(machine.machine.snapshot().memory).includes('a secret a secret')).toBe(true);
    machine.begin(hooks);
    const after = machine.machine.snapshot().memory;
    const changed = [...before.keys()].filter((at) => before[at] !== after[at]);
    expect(changed.length).toBeGreaterThan(0);
    expect((changed.at(-1) ?? 0) - (changed[0] ?? 0)).toBeLessThan(8);
  });

  it('has other random numbers', async () => {
    const run = createScriptRunner(wasm);
    const numbers = new Set<unknown>();
    for (let count = 0; count < 20; count += 1) numbers.add(await outputOf(run, 'return Math.random()'));
    expect(numbers.size).toBe(20);
  });

  it('has a running clock', async () => {
    const run = createScriptRunner(wasm);
    const [first, second] = [await outputOf(run, 'return Date.now()'), await outputOf(run, 'return Date.now()')];
    expect(Number(second)).toBeGreaterThanOrEqual(Number(first));
    expect(Math.abs(Number(await outputOf(run, 'return performance.timeOrigin + performance.now() - Date.now()')))).toBeLessThan(
      2,
    );
  });

  it('gets a new machine after a script whose memory has grown, or that has thrown', async () => {
    const run = createScriptRunner(wasm);
    await outputOf(run, 'globalThis.left = "x".repeat(8_000_000); return null');
    expect(await outputOf(run, 'return typeof left')).toBe('undefined');
    expect(await run(script('return "x".repeat(100_000_000).split("")'))).toMatchObject({ errorCode: 'memory_exceeded' });
    expect(await run(script('this is no script'))).toMatchObject({ errorCode: 'script_threw' });
    expect(await outputOf(run, 'return typeof left')).toBe('undefined');
  });
});

/** The globals of a WebAssembly module, as `mutable` flags (https://webassembly.github.io/spec/core/binary/modules.html). */
function mutableGlobals(module: Uint8Array): number {
  let at = 8;
  const number = (): number => {
    let [value, shift] = [0, 0];
    for (;;) {
      const byte = module[at++] ?? 0;
      value |= (byte & 127) << shift;
      shift += 7;
      if (byte < 128) return value >>> 0;
    }
  };
  while (at < module.length) {
    const id = module[at++];
    const end = number() + at;
    if (id === 6) {
      let mutable = 0;
      for (let left = number(); left > 0; left -= 1) {
        mutable += module[at + 1] ?? 0;
        at = module.indexOf(0x0b, at) + 1;
      }
      return mutable;
    }
    at = end;
  }
  return 0;
}

describe('the engine', () => {
  it('keeps its state in its memory: its only mutable global is the pointer to its stack', () => {
    expect(mutableGlobals(bytes)).toBe(1);
    const globals = WebAssembly.Module.exports(wasm).filter(({ kind }) => kind === 'global');
    expect(globals).toEqual([{ name: '__stack_pointer', kind: 'global' }]);
  });
});
