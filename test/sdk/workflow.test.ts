/** Workflow definitions and their types. */
import { describe, expect, expectTypeOf, test } from 'vitest';
import * as z from 'zod';
import {
  type Duration,
  NonRetryableError,
  type SentSignal,
  type Step,
  StepError,
  type Stored,
  type WorkflowArguments,
  defineWorkflow,
  defineWorkflowSpec,
} from '../../lib/sdk/index.ts';
import type * as errors from '../../lib/sdk/errors.ts';
import type { StepApi } from '../../lib/program/step-api.ts';

describe('a definition', () => {
  test('keeps its spec and function, and has a mark', () => {
    const flow = defineWorkflow({ name: 'send-mail', version: '2' }, () => 1);
    expect(flow.spec).toEqual({ name: 'send-mail', version: '2' });
    expect(Object.getOwnPropertySymbols(flow)).toEqual([Symbol.for('stepwell.workflow')]);
  });

  test.each([
    [{ name: '' }, 'the name of a workflow'],
    [{ name: 'two words' }, 'two words'],
    [{ name: 'x'.repeat(129) }, 'the name of a workflow'],
    [{ name: 'x', version: '' }, 'the version of workflow x'],
    [{ name: 'x', maxStepAttempts: 0 }, 'from 1 to 25000'],
    [{ name: 'x', maxStepAttempts: 25_001 }, 'from 1 to 25000'],
    [{ name: 'x', maxStepAttempts: 1.5 }, 'an integer'],
  ])('%o is rejected', (spec, message) => {
    expect(() => defineWorkflowSpec(spec)).toThrow(message);
    expect(() => defineWorkflow(spec, () => 1)).toThrow(message);
  });
});

describe('errors', () => {
  test('are recognized across copies of this package', async () => {
    const copy: typeof errors = await import(`${'../../lib/sdk/errors.ts'}?copy`);
    const step = new copy.StepError('no', { step: 'a', cause: 'error', code: 'x' });
    expect(copy.StepError).not.toBe(StepError);
    expect(step instanceof StepError).toBe(true);
    expect(step instanceof NonRetryableError).toBe(false);
    expect(new copy.NonRetryableError('never') instanceof NonRetryableError).toBe(true);
    expect(new Error('x') instanceof StepError).toBe(false);
    expect(JSON.parse(JSON.stringify(step))).toEqual({ name: 'StepError', message: 'no', step: 'a', cause: 'error', code: 'x' });
  });
});

describe('types', () => {
  test('flow from the schema to the function, and from the function to its caller', () => {
    const schema = z.object({ at: z.string().transform((text) => new Date(text)) });
    const flow = defineWorkflow({ name: 'dated', schema }, async ({ input, step, run }) => {
      expectTypeOf(input).toEqualTypeOf<{ at: Date }>();
      expectTypeOf(run.createdAt).toEqualTypeOf<Date>();
      return step.run({ name: 'a' }, () => ({ at: input.at, count: 1 }));
    });
    type Parameter = NonNullable<(typeof flow)['spec']['schema']>['~standard']['types'];
    expectTypeOf<NonNullable<Parameter>['input']>().toEqualTypeOf<{ at: string }>();
    const caller = async (step: Step) => {
      const answer = await step.runWorkflow(flow, { at: '2020' });
      expectTypeOf(answer).toEqualTypeOf<{ at: string; count: number }>();
    };
    expectTypeOf(caller).returns.resolves.toBeVoid();
  });

  test('of an input without a schema come from the function', () => {
    const flow = defineWorkflow({ name: 'plain' }, ({ input }: WorkflowArguments<{ n: number }>) => input.n);
    const caller = async (step: Step) => {
      expectTypeOf(await step.runWorkflow(flow, { n: 1 })).toEqualTypeOf<number>();
      const none = defineWorkflow({ name: 'none' }, () => 'x');
      expectTypeOf(await step.runWorkflow(none)).toEqualTypeOf<string>();
    };
    expectTypeOf(caller).toBeFunction();
  });

  test('of a spec are enough for a caller', () => {
    const spec = defineWorkflowSpec<{ n: number }, { done: Date }>({ name: 'elsewhere' });
    const caller = async (step: Step) => expectTypeOf(await step.runWorkflow(spec, { n: 1 })).toEqualTypeOf<{ done: string }>();
    expectTypeOf(caller).toBeFunction();
  });

  test('of a result are those of the stored form', () => {
    expectTypeOf<Stored<Date>>().toEqualTypeOf<string>();
    expectTypeOf<Stored<undefined>>().toEqualTypeOf<null>();
    expectTypeOf<Stored<string | undefined>>().toEqualTypeOf<string | null>();
    expectTypeOf<Stored<[Date, 1]>>().toEqualTypeOf<[string, 1]>();
    expectTypeOf<Stored<{ a?: Date; b: 'x' }>>().toEqualTypeOf<{ a?: string; b: 'x' }>();
    expectTypeOf<Stored<Map<string, string>>>().toBeNever();
    expectTypeOf<Stored<unknown>>().toBeUnknown();
  });

  test('of signals', () => {
    const waits = async (step: Step) => {
      expectTypeOf(await step.waitForSignal({ signal: 'x' })).toEqualTypeOf<{ readonly data: unknown } | null>();
      const schema = z.object({ n: z.number() });
      expectTypeOf(await step.waitForSignal({ signal: 'x', schema })).toEqualTypeOf<{ readonly data: { n: number } } | null>();
      expectTypeOf(await step.sendSignal({ signal: 'x' })).toEqualTypeOf<SentSignal>();
      expectTypeOf<Parameters<Step['sleep']>[1]>().toEqualTypeOf<Duration>();
    };
    expectTypeOf(waits).toBeFunction();
  });

  test('the implemented step API matches the declared one', () => {
    expectTypeOf<keyof StepApi>().toEqualTypeOf<keyof Step>();
  });
});
