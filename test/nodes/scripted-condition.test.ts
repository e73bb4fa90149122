import { describe, expect, it } from 'vitest';
import { PayloadsNeeded } from '../../lib/engine/graph/context.ts';
import type { JsonObject } from '../../lib/engine/json.ts';
import { durationMs, seconds } from '../../lib/engine/time.ts';
import type { Script } from '../../lib/nodes/sandbox/script.ts';
import { createAttemptRunner } from '../../lib/nodes/attempt-runner.ts';
import { createRunners } from '../../lib/nodes/runners.ts';
import { contextOf, found, inputOf, outputOf, planNode, toolsOf } from './given.ts';

const attempt = createAttemptRunner(createRunners());
const run = (branches: readonly JsonObject[], context: JsonObject = {}, timeoutMs = seconds(30)) => {
  const node = planNode('condition', { branches });
  return attempt({ ...node, policy: { ...node.policy, timeoutMs } }, inputOf(context, { limit: 3 }), toolsOf());
};
const script = (expression: string) => ({ operator: 'expression', expression });

describe('a scripted condition', () => {
  it.each([
    ['ctx.n > inputs.limit', true],
    ['ctx.n < inputs.limit', false],
    ['"text"', true],
    ['0', false],
    ['null', false],
    ['{}', true],
    ['ctx.n // of the order', true],
    ['[1, 2].includes(ctx.n) || ctx.n === 4', true],
    ['ctx.none.deep', false],
  ])('%s: %s', async (expression, isTaken) => {
    const { outcome } = await run([{ id: 'a', conditions: [script(expression)] }], { n: 4 });
    expect(outcome).toMatchObject({ kind: 'finished', handle: isTaken ? 'a' : 'default' });
  });

  it('can be combined with comparisons and other scripts', async () => {
    const compare = { leftValue: '{{ctx.n}}', operator: 'equals', rightValue: 4 };
    const branches = [
      { id: 'a', conditions: [compare, script('false')] },
      { id: 'b', label: 'B', conditions: [compare, script('true')] },
    ];
    const { outcome } = await run(branches, { n: 4 });
    expect(outputOf(outcome)).toEqual({ matched: 'b', label: 'B' });
  });

  it('is accepted in its older forms, and in leftValue', async () => {
    expect((await run([{ id: 'a', condition: 'ctx.n === 4' }], { n: 4 })).outcome).toMatchObject({ handle: 'a' });
    expect((await run([{ id: 'a', expression: 'ctx.n === 4' }], { n: 4 })).outcome).toMatchObject({ handle: 'a' });
    const conditions = [{ operator: 'expression', leftValue: 'ctx.n === 4' }];
    expect((await run([{ id: 'a', conditions }], { n: 4 })).outcome).toMatchObject({ handle: 'a' });
  });

  it('that throws is false, and its error is printed', async () => {
    const { outcome, printed } = await run([{ id: 'a', expression: 'ctx.none.deep' }]);
    expect(outcome).toMatchObject({ handle: 'default' });
    expect(printed).toEqual([expect.stringMatching(/^ctx\.none\.deep: TypeError/)]);
  });

  it('that does not end fails the node, and no branch is taken', async () => {
    const { outcome } = await run([{ id: 'a', expression: '(() => { for (;;); })()' }], {}, durationMs(50));
    expect(outcome).toMatchObject({ kind: 'failed', failure: { cause: 'timeout', code: 'script_timeout' } });
  });

  it('gets five seconds, or the rest of the node’s time limit', async () => {
    const limits: number[] = [];
    const sandbox = {
      run: async ({ timeoutMs }: Script) => {
        limits.push(timeoutMs);
        return { kind: 'returned' as const, output: 'true', printed: [], cpuMs: 0 };
      },
    };
    const run2 = createAttemptRunner(createRunners({ sandbox }));
    const node = planNode('condition', { branches: [{ id: 'a', expression: 'ctx.a' }] });
    await run2(node, inputOf(), toolsOf());
    await run2({ ...node, policy: { ...node.policy, timeoutMs: seconds(2) } }, inputOf(), toolsOf());
    expect(limits[0]).toBe(5_000);
    expect(limits[1]).toBeLessThanOrEqual(2_000);
    expect(limits[1]).toBeGreaterThan(1_000);
  });

  it('requests stored values like other nodes', async () => {
    const node = planNode('condition', { branches: [{ id: 'a', expression: 'ctx.a' }] });
    const all = () => {
      throw new PayloadsNeeded(['item:a']);
    };
    const input = { ...inputOf(), context: { ...contextOf({}), all } };
    await expect(attempt(node, input, toolsOf())).rejects.toThrow(PayloadsNeeded);
  });
});

it('code after an expression is rejected at validation', () => {
  for (const expression of ['1; 2', '1) + (2', 'ctx.a; while (true);', 'const a = 1', ''])
    expect([expression, found('condition', { branches: [{ id: 'a', expression }] }).length]).toEqual([expression, 1]);
});
