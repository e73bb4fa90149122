/** The CPU time slice of an attempt's scripts before the attempt moves to the slow lane, and the CPU time that they report. */
import { setTimeout as wait } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../lib/engine/json.ts';
import { TimeSliceExceeded } from '../../lib/engine/fair-shares.ts';
import { type DurationMs, durationMs, seconds } from '../../lib/engine/time.ts';
import { createAttemptRunner } from '../../lib/nodes/attempt-runner.ts';
import { runCondition } from '../../lib/nodes/condition/run.ts';
import { runJavascript } from '../../lib/nodes/javascript/run.ts';
import type { Runner } from '../../lib/nodes/runner.ts';
import { createRunners } from '../../lib/nodes/runners.ts';
import { type Sandbox, type Script, withinSlice } from '../../lib/nodes/sandbox/script.ts';
import { threadSandbox } from '../../lib/nodes/sandbox/thread-sandbox.ts';
import { inputOf, planNode, toolsOf } from './given.ts';

const attempt = createAttemptRunner(createRunners());
const slice = durationMs(300);
const run = (
  type: string,
  config: JsonObject,
  { timeSlice = slice, timeoutMs = seconds(30) }: { timeSlice?: DurationMs; timeoutMs?: DurationMs } = {},
) => {
  const node = planNode(type, config);
  return attempt({ ...node, policy: { ...node.policy, timeoutMs } }, inputOf({}, {}), { ...toolsOf(timeoutMs), timeSlice });
};

describe('a script that exceeds its slice', () => {
  test.each([
    ['loops', 'for (;;) {}'],
    ['loops where no interrupt is looked at', "return Array.prototype.join.call({ length: 2 ** 53 - 1 }, '')"],
    ['loops in a job that it left behind', 'const again = () => Promise.resolve().then(again); again()'],
  ])('has no outcome, and starts again in the slow lane: %s', async (_name, code) => {
    await expect(run('javascript', { code })).rejects.toThrow(TimeSliceExceeded);
  });

  test('may also be an expression of a condition', async () => {
    const branches = [{ id: 'a', expression: '(() => { for (;;) {} })()' }];
    await expect(run('condition', { branches })).rejects.toThrow(TimeSliceExceeded);
  });

  test('fails with its own time limit if that is shorter', async () => {
    const { outcome } = await run('javascript', { code: 'for (;;) {}' }, { timeoutMs: durationMs(50), timeSlice: seconds(5) });
    expect(outcome).toMatchObject({ kind: 'failed', failure: { code: 'script_timeout', details: { timeoutMs: 50 } } });
  });
});

test('a script that ends, throws or hits another limit within its slice has its outcome', async () => {
  const timeSlice = seconds(10);
  expect((await run('javascript', { code: 'return 1' }, { timeSlice })).outcome).toMatchObject({ kind: 'finished' });
  expect((await run('javascript', { code: 'throw new Error("no")' }, { timeSlice })).outcome).toMatchObject({
    failure: { code: 'script_threw' },
  });
});

test('scripts of one attempt share its slice, measured in CPU time', async () => {
  const slices: unknown[] = [];
  const sandbox: Sandbox = {
    run: async ({ sliceMs }) => {
      slices.push(sliceMs);
      await wait(5);
      return { kind: 'returned', output: 'true', printed: [], cpuMs: 20 };
    },
  };
  const script: Script = { code: '', context: '{}', inputs: '{}', timeoutMs: seconds(5), memoryBytes: 1 };
  const sliced = withinSlice(sandbox, durationMs(50));
  const { signal } = new AbortController();
  for (let expression = 0; expression < 3; expression += 1) await sliced.run(script, signal);
  await expect(sliced.run(script, signal)).rejects.toThrow(TimeSliceExceeded);
  expect(slices).toEqual([50, 30, 10]);
});

test('scripts of one attempt in the slow lane have no slice', async () => {
  const slices: unknown[] = [];
  const sandbox: Sandbox = {
    run: async ({ sliceMs }) => {
      slices.push(sliceMs);
      return { kind: 'returned', output: 'true', printed: [], cpuMs: 5_000 };
    },
  };
  const scripts = withinSlice(sandbox, undefined);
  const { signal } = new AbortController();
  for (let expression = 0; expression < 2; expression += 1)
    await scripts.run({ code: '', context: '{}', inputs: '{}', timeoutMs: seconds(5), memoryBytes: 1 }, signal);
  expect(slices).toEqual([undefined, undefined]);
  expect(scripts.usage()).toEqual({ cpuMs: 10_000 });
});

describe('the CPU time of an attempt', () => {
  /** Runs a node in a sandbox whose scripts report these CPU times, in turn. */
  const reported = (
    type: string,
    config: JsonObject,
    times: readonly (number | undefined)[],
    end: 'returned' | 'script_threw' | 'memory_exceeded' = 'returned',
  ) => {
    const left = [...times];
    const sandbox: Sandbox = {
      run: async () => {
        const cpuMs = left.shift();
        const used = { printed: [], ...(cpuMs === undefined ? {} : { cpuMs }) };
        return end === 'returned'
          ? { kind: 'returned', output: 'true', ...used }
          : { kind: 'stopped', errorCode: end, message: 'no', ...used };
      },
    };
    return runScripted(type === 'javascript' ? runJavascript(sandbox, 1) : runCondition(sandbox, 1), config);
  };
  const runScripted = (scripted: Runner, config: JsonObject) =>
    createAttemptRunner(new Map([[scripted.type, scripted]]))(planNode(scripted.type, config), inputOf({}, {}), toolsOf());
  const branches = ['1 > 0', '2 > 0', '3 > 0'].map((expression, number) => ({ id: `b${number}`, expression }));

  test('is in the result of a script that returned, and of one that threw', async () => {
    expect(await reported('javascript', { code: 'return true' }, [12.5])).toMatchObject({
      outcome: { kind: 'finished' },
      cpuMs: 12.5,
    });
    expect(await reported('javascript', { code: 'throw 1' }, [0], 'script_threw')).toMatchObject({
      outcome: { kind: 'failed' },
      cpuMs: 0,
    });
  });

  test('is the sum of a condition’s expressions', async () => {
    expect(await reported('condition', { branches }, [1, 20, 300])).toMatchObject({ outcome: { kind: 'finished' }, cpuMs: 321 });
    expect(await reported('condition', { branches }, [1, 20, 300], 'script_threw')).toMatchObject({ cpuMs: 321 });
    // A limit ends the attempt at the first expression.
    expect(await reported('condition', { branches }, [7], 'memory_exceeded')).toMatchObject({
      outcome: { kind: 'failed' },
      cpuMs: 7,
    });
  });

  test('is absent if a thread did not report that of one script', async () => {
    expect(await reported('javascript', { code: 'return true' }, [undefined])).not.toHaveProperty('cpuMs');
    for (const times of [
      [undefined, 1, 1],
      [1, undefined, 1],
      [1, 1, undefined],
    ])
      expect(await reported('condition', { branches }, times)).not.toHaveProperty('cpuMs');
  });

  test('is absent for a node without scripts', async () => {
    const finished = async () => ({
      outcome: { kind: 'finished', output: { value: 1 }, handle: 'output' } as const,
      printed: [],
    });
    expect(await runScripted({ type: 'javascript', run: finished }, {})).not.toHaveProperty('cpuMs');
  });

  test('is kept where a secret is masked', async () => {
    const secret = 'hunter2-hunter2';
    const scripted = runJavascript(threadSandbox(), 67_108_864);
    const usesSecret: Runner = {
      type: 'javascript',
      run: async (config, input, tools) => {
        await tools.secrets.resolve('password');
        return scripted.run(config, input, tools);
      },
    };
    const masking = createAttemptRunner(new Map([['javascript', usesSecret]]), {
      secret: async () => ({ kind: 'secret', text: secret }),
    });
    const code = `console.log('${secret}'); let n = 0; while (n < 3_000_000) n++; return '${secret}'`;
    const result = await masking(planNode('javascript', { code }), inputOf({}, {}), toolsOf());
    expect(JSON.stringify(result)).not.toContain(secret);
    expect(result).toMatchObject({ printed: ['[secret:password]'], outcome: { output: { value: '[secret:password]' } } });
    expect(result.cpuMs).toBeGreaterThan(0);
  });

  test('is in the result of a script that reached its own time limit', async () => {
    const timeoutMs = durationMs(60);
    const { outcome, cpuMs } = await run('javascript', { code: 'for (;;) {}' }, { timeoutMs, timeSlice: seconds(5) });
    expect(outcome).toMatchObject({ failure: { code: 'script_timeout' } });
    expect(cpuMs).toBeGreaterThan(0);
  });

  test('is absent if the thread was stopped in a loop that checks no interrupt', async () => {
    const code = "return Array.prototype.join.call({ length: 2 ** 53 - 1 }, '')";
    const { outcome, cpuMs } = await run('javascript', { code }, { timeoutMs: durationMs(50), timeSlice: seconds(5) });
    expect(outcome).toMatchObject({ failure: { code: 'script_timeout' } });
    expect(cpuMs).toBeUndefined();
  });
});

test('a thread reports the CPU time of its script', async () => {
  const sandbox = threadSandbox();
  const { signal } = new AbortController();
  const short: Script = { code: 'return 1', context: '{}', inputs: '{}', timeoutMs: seconds(30), memoryBytes: 67_108_864 };
  const end = await sandbox.run({ ...short, sliceMs: seconds(5) }, signal);
  expect(end).toMatchObject({ kind: 'returned', output: '1' });
  expect(end.cpuMs).toBeGreaterThan(0);
  const long = await sandbox.run({ ...short, code: 'let n = 0; while (n < 3_000_000) n++; return n' }, signal);
  expect(long.cpuMs).toBeGreaterThan(end.cpuMs ?? Infinity);
});
