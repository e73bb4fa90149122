/** The failure of a script, a condition, a lens or a query contains what the attempt saw after templates, without secrets. */
import { describe, expect, it } from 'vitest';
import { SecretMask } from '../../lib/egress/secret-mask.ts';
import type { JsonObject } from '../../lib/engine/json.ts';
import { failureBytes, failureLimits } from '../../lib/engine/log/event-limits.ts';
import { durationMs } from '../../lib/engine/time.ts';
import { createAttemptRunner } from '../../lib/nodes/attempt-runner.ts';
import { createRunners } from '../../lib/nodes/runners.ts';
import { shownInputLimits, shownValues } from '../../lib/engine/graph/shown-values.ts';
import { ask } from './data-query/given.ts';
import { decided, inputOf, planNode, toolsOf } from './given.ts';

const attempt = createAttemptRunner(createRunners());
const failureOf = async (type: string, config: JsonObject, context: JsonObject = {}, inputs: JsonObject = {}) => {
  const { outcome } = await attempt(planNode(type, config), inputOf(context, inputs), toolsOf());
  if (outcome.kind !== 'failed') throw new Error(outcome.kind);
  return outcome.failure;
};
const scriptInput = async (code: string, context: JsonObject, inputs: JsonObject = {}) =>
  (await failureOf('javascript', { code }, context, inputs)).details?.['input'];

describe('a script that fails', () => {
  it('keeps the context names that it reads, and names those without a value', async () => {
    expect(await scriptInput('return ctx.order.total + ctx.tax.rate', { order: { total: 3 }, other: 1 })).toEqual({
      ctx: { order: { total: 3 } },
      unset: ['tax'],
    });
  });

  it('keeps its inputs if it reads them', async () => {
    expect(await scriptInput('throw new Error(inputs.from)', { order: 1 }, { from: 'a' })).toEqual({
      ctx: {},
      inputs: { from: 'a' },
    });
  });

  it('keeps no input if it reads nothing', async () => {
    expect(await failureOf('javascript', { code: 'throw new Error("no")' }, { order: 1 })).not.toHaveProperty('details.input');
  });

  it('keeps its line too', async () => {
    expect((await failureOf('javascript', { code: '\nctx.none.deep' })).details).toMatchObject({
      line: 2,
      input: { unset: ['none'] },
    });
  });

  it('has a failure that fits, however large and awkward its values are', async () => {
    const names = Array.from({ length: 200 }, (_, index) => `name${index}`);
    const context = Object.fromEntries(names.map((name) => [name, '"\u0001'.repeat(5_000)]));
    const failure = await failureOf(
      'javascript',
      { code: `${names.map((name) => `ctx.${name}`).join(';')}; throw new Error('x')` },
      context,
    );
    expect(failureBytes(failure)).toBeLessThan(failureLimits.details);
    expect(failure.details?.['input']).toHaveProperty('ctx.omitted');
  });
});

it('a condition whose expression exceeds its time keeps what the expression reads', async () => {
  const node = planNode('condition', { branches: [{ id: 'a', expression: '(() => { for (; ctx.on;); })()' }] });
  const limited = { ...node, policy: { ...node.policy, timeoutMs: durationMs(50) } };
  const { outcome } = await attempt(limited, inputOf({ on: true }), toolsOf());
  expect(outcome).toMatchObject({ failure: { code: 'script_timeout', details: { input: { ctx: { on: true } } } } });
});

describe('a query that fails', () => {
  const query = { statement: 'select 1', parameters: [{ name: 'city', type: 'string', required: true }] } as const;

  it('keeps its version and its arguments after templates', async () => {
    const outcome = await ask({ query, values: { city: '{{ctx.city}}' }, context: { city: 'Bern' } });
    expect(outcome).toMatchObject({ failure: { details: { input: { query: 'q', version: 3, arguments: { city: 'Bern' } } } } });
  });

  it('keeps arguments that do not match its parameters', async () => {
    const outcome = await ask({ query, values: { city: '{{ctx.city}}' }, context: { city: 7 } });
    expect(outcome).toMatchObject({
      failure: { code: 'arguments_invalid', details: { input: { arguments: { city: 7 } } } },
    });
  });
});

describe('a node that is decided without an attempt', () => {
  const inputOfDecision = (type: string, config: JsonObject, context: JsonObject) => {
    const outcome = decided(type, config, context);
    if (outcome.kind !== 'failed') throw new Error(outcome.kind);
    return outcome.failure.details?.['input'];
  };

  it.each<[string, string, JsonObject, JsonObject, JsonObject]>([
    ['an invalid duration', 'delay', { delayType: 'dynamic', delayVariable: '{{ctx.wait}}' }, { wait: [5] }, { delay: [5] }],
    [
      'a duration that is too long',
      'delay',
      { delayType: 'dynamic', delayVariable: '{{ctx.wait}}' },
      { wait: 1e12 },
      { delay: 1e12 },
    ],
    ['an invalid time', 'delay', { delayType: 'until', untilTime: '{{ctx.at}}' }, { at: { day: 5 } }, { delay: { day: 5 } }],
    [
      'an invalid name',
      'signal',
      { name: '{{ctx.a}}', correlation: '{{ctx.b}}' },
      { a: [1], b: 7 },
      { signal: [1], correlation: '7' },
    ],
    [
      'an invalid correlation',
      'signal',
      { name: 'paid', correlation: '{{ctx.b}}' },
      { b: null },
      { signal: 'paid', correlation: null },
    ],
    [
      'too many items',
      'loop',
      { sourceVariable: '{{ctx.list}}', maxIterations: 1 },
      { list: [1, 2] },
      { source: [1, 2], items: 2 },
    ],
  ])('keeps what it saw: %s', (_what, type, config, context, input) => {
    expect(inputOfDecision(type, config, context)).toEqual(input);
  });

  it('keeps the beginning of a long value', () => {
    const list = Array.from({ length: 2_000 }, (_, index) => index);
    const input = inputOfDecision('loop', { sourceVariable: '{{ctx.list}}', maxIterations: 1 }, { list });
    expect(input).toEqual({ source: expect.stringMatching(/^\[0,1,2.{280,300}…$/), items: 2_000 });
  });

  it('hides values whose names suggest a credential', () => {
    const config = { delayType: 'dynamic', delayVariable: '{{ctx.wait}}' };
    expect(inputOfDecision('delay', config, { wait: { apiKey: 'abc', ms: 5 } })).toEqual({
      delay: { apiKey: '[hidden]', ms: 5 },
    });
  });
});

describe('shown values', () => {
  const none = new SecretMask([]);
  const mask = new SecretMask([{ name: 'db', text: 'planted-secret' }]);

  it('have no secret, not even the part before a cut', () => {
    const text = `${'x'.repeat(shownInputLimits.value - 5)}planted-secret`;
    const shown = JSON.stringify(shownValues({ text, nested: { deep: [text] }, 'planted-secret': 1 }, mask));
    expect(shown).not.toContain('plant');
    expect(shown).toContain('[secret:db]');
  });

  it('hide values whose names suggest a credential', () => {
    expect(shownValues({ apiKey: 'abc', password: 'def', city: 'Bern' }, none)).toEqual({
      apiKey: '[hidden]',
      password: '[hidden]',
      city: 'Bern',
    });
  });

  it('keep a short value as it is, and the beginning of the JSON of a long one', () => {
    const long = { list: Array.from({ length: 1_000 }, (_, index) => index) };
    const shown = shownValues({ short: { a: [1] }, long }, none);
    expect(shown).toMatchObject({ short: { a: [1] }, long: expect.stringMatching(/^\{"list":\[0,1,2.*…$/) });
  });
});
