/** The CPU time slice of an attempt's scripts before the attempt moves to the slow lane. */
import { setTimeout as wait } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../lib/engine/json.ts';
import { TimeSliceExceeded } from '../../lib/engine/fair-shares.ts';
import { type DurationMs, durationMs, seconds } from '../../lib/engine/time.ts';
import { createAttemptRunner } from '../../lib/nodes/attempt-runner.ts';
import { createRunners } from '../../lib/nodes/runners.ts';
import { type Sandbox, type Script, withinSlice } from '../../lib/nodes/sandbox/script.ts';
import { threadSandbox } from '../../lib/nodes/sandbox/thread-sandbox.ts';
import { inputOf, planNode, toolsOf } from './given.ts';

const attempt = createAttemptRunner(createRunners());
const slice = durationMs(300);
const run = (
  type: string,
  config: JsonObject,
  { firstSlice = slice, timeoutMs = seconds(30) }: { firstSlice?: DurationMs; timeoutMs?: DurationMs } = {},
) => {
  const node = planNode(type, config);
  return attempt({ ...node, policy: { ...node.policy, timeoutMs } }, inputOf({}, {}), { ...toolsOf(timeoutMs), firstSlice });
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
    const { outcome } = await run('javascript', { code: 'for (;;) {}' }, { timeoutMs: durationMs(50), firstSlice: seconds(5) });
    expect(outcome).toMatchObject({ kind: 'failed', failure: { code: 'script_timeout', details: { timeoutMs: 50 } } });
  });
});

test('a script that ends, throws or hits another limit within its slice has its outcome', async () => {
  const firstSlice = seconds(10);
  expect((await run('javascript', { code: 'return 1' }, { firstSlice })).outcome).toMatchObject({ kind: 'finished' });
  expect((await run('javascript', { code: 'throw new Error("no")' }, { firstSlice })).outcome).toMatchObject({
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
  expect(withinSlice(sandbox, undefined)).toBe(sandbox);
});

test('a thread reports the CPU time of its script', async () => {
  const sandbox = threadSandbox();
  const { signal } = new AbortController();
  const short: Script = { code: 'return 1', context: '{}', inputs: '{}', timeoutMs: seconds(30), memoryBytes: 67_108_864 };
  const end = await sandbox.run({ ...short, sliceMs: seconds(5) }, signal);
  expect(end).toMatchObject({ kind: 'returned', output: '1' });
  expect(end.cpuMs).toBeGreaterThan(0);
  const long = await sandbox.run({ ...short, code: 'let n = 0; while (n < 3_000_000) n++; return n' }, signal);
  expect(long.cpuMs).toBeGreaterThan(end.cpuMs);
});
