/**
 * The programs of the recorded histories, and how each was played. A program never changes: runs of released versions have such
 * histories in their logs. New behaviour needs new programs and files (`record.ts`).
 */
import * as z from 'zod';
import type { Workflow } from '../../lib/sdk/index.ts';
import { NonRetryableError, StepError, defineWorkflow } from '../../lib/sdk/index.ts';
import type { JsonValue } from '../../lib/engine/json.ts';
import type { DrivenRun, Options } from '../program/driven-run.ts';

export interface RecordedProgram {
  readonly workflow: Workflow<never, unknown, never> | Workflow;
  readonly options?: Options;
  /** plays a new run to its end */
  readonly play: (run: DrivenRun) => Promise<unknown>;
}

const toTheEnd = (run: DrivenRun): Promise<unknown> => run.toTheEnd();

/** Crashes after the command batches of these numbers, from 1. */
const crashingAfter = (...batches: readonly number[]) => {
  return (run: DrivenRun): Promise<unknown> => {
    let batch = 0;
    run.beforeTurn = () => (batches.includes((batch += 1)) ? 'die-after' : 'commit');
    return run.toTheEnd();
  };
};

const failing = async (text: string): Promise<never> => {
  throw new Error(text);
};

export const programs: Readonly<Record<string, RecordedProgram>> = {
  chain: {
    workflow: defineWorkflow({ name: 'test' }, async ({ step, input }) => {
      let sum = 0;
      for (let each = 1; each <= 4; each += 1) {
        sum += await step.run({ name: 'add' }, () => each);
        if (each === 2) await step.sleep('add', '1h');
      }
      return { sum, input };
    }),
    options: { input: { order: 7 } },
    play: toTheEnd,
  },
  parallel: {
    workflow: defineWorkflow({ name: 'test' }, async ({ step }) => {
      const all = await Promise.all([
        step.run({ name: 'a' }, () => 'a'),
        step.sleep('nap', '2h').then(() => step.run({ name: 'after nap' }, () => 'rested')),
        step.sleep('short nap', '1h').then(() => step.run({ name: 'after nap' }, () => 'less rested')),
      ]);
      const first = await Promise.race([
        step.sleep('late', '2 days').then(() => 'late'),
        step.sleep('soon', '1 day').then(() => 'soon'),
      ]);
      const any = await Promise.any([
        step.run({ name: 'bad', retryPolicy: { maximumAttempts: 1 } }, () => failing('no')),
        step.sleep('late', '2 days').then(() => 'any'),
      ]);
      const settled = await Promise.allSettled([
        step.run({ name: 'bad', retryPolicy: { maximumAttempts: 1 } }, () => failing('no')),
        step.run({ name: 'good' }, () => 'yes'),
      ]);
      await step.sleep('nap', 1);
      return [all, first, any, settled.map(({ status }) => status)];
    }),
    play: toTheEnd,
  },
  signals: {
    workflow: defineWorkflow({ name: 'test' }, async ({ step, run }) => {
      const both = await Promise.all([
        step.waitForSignal({ signal: 'approved' }),
        step.waitForSignal({ name: 'payment', signal: 'paid', correlation: 'order-7', schema: z.object({ sum: z.number() }) }),
      ]);
      const none = await step.waitForSignal({ signal: 'approved', timeout: '1 day' });
      const sent = await step.sendSignal({ signal: 'done', correlation: run.id, data: { both } });
      return { both, none, sent };
    }),
    play: async (run) => {
      await run.toTheEnd();
      run.signal('paid', { sum: 5 });
      await run.toTheEnd();
      run.signal('approved', null);
      await run.toTheEnd();
    },
  },
  children: {
    workflow: defineWorkflow({ name: 'test' }, async ({ step }) => {
      const good = await step.runWorkflow({ name: 'good' }, { n: 1 });
      const bad = await step
        .runWorkflow({ name: 'bad' }, [1, 2])
        .catch((error: unknown) => (error instanceof StepError ? [error.step, error.cause, error.message] : 'other'));
      const late = await step
        .runWorkflow({ name: 'late' }, null, { name: 'the late one', timeout: '2h' })
        .catch((error: unknown) => (error instanceof StepError ? error.code : 'other'));
      return { good, bad, late };
    }),
    options: {
      children: {
        good: (input: JsonValue) => ({ status: 'completed', output: { got: input } }),
        bad: () => ({ status: 'failed', error: { cause: 'error', message: 'it broke' } }),
      },
    },
    play: toTheEnd,
  },
  retries: {
    workflow: defineWorkflow(
      { name: 'test', retryPolicy: { maximumAttempts: 3, initialInterval: '10s' } },
      async ({ step, run }) => {
        const kept = await step.run({ name: 'kept' }, () => `of ${run.attempt}`);
        const flaky = await step.run({ name: 'flaky' }, ({ attempt }) => (attempt < 3 ? failing(`try ${attempt}`) : attempt));
        await step.run({ name: 'last', retryPolicy: { maximumAttempts: 1 } }, () => (run.attempt < 3 ? failing('again') : 1));
        await step.sleep('nap', '1h');
        return { kept, flaky, attempt: run.attempt };
      },
    ),
    play: toTheEnd,
  },
  'run-values': {
    workflow: defineWorkflow({ name: 'test', version: '2026-11' }, async ({ step, now, random, uuid, version }) => {
      const told: unknown[] = [version, now(), random(), uuid()];
      await step.sleep('nap', '1.5 days');
      told.push(now(), random(), uuid());
      await step.run({ name: `at ${now().toISOString()}` }, () => random());
      told.push(now(), random(), uuid());
      await step.sleep(`nap ${uuid()}`, '1h');
      return told;
    }),
    options: { version: '2026-11' },
    play: toTheEnd,
  },
  'rolled-back': {
    workflow: defineWorkflow({ name: 'test' }, async ({ step }) => {
      await Promise.all(
        ['flight', 'hotel'].map((name) => step.run({ name, rollback: ({ output }) => `no ${output}` }, () => `a ${name}`)),
      );
      await step.sleep('nap', '1h');
      await step.run(
        { name: 'car', rollback: () => failing('it is gone'), retryPolicy: { maximumAttempts: 2, initialInterval: '1 min' } },
        () => 1,
      );
      throw new NonRetryableError('no car', { code: 'no_car' });
    }),
    play: toTheEnd,
  },
  cancelled: {
    workflow: defineWorkflow({ name: 'test' }, async ({ step }) => {
      await step.run({ name: 'paid', rollback: ({ output }) => output }, () => ({ sum: 5 }));
      await step.waitForSignal({ signal: 'never' });
    }),
    play: async (run) => {
      await run.toTheEnd();
      run.cancel('they changed their minds');
      await run.toTheEnd();
    },
  },
  lost: {
    workflow: defineWorkflow({ name: 'test' }, async ({ step }) => {
      const both = await Promise.all([
        step.run({ name: 'a' }, ({ attempt }) => attempt),
        step.run({ name: 'b' }, ({ attempt }) => attempt),
      ]);
      return [both, await step.run({ name: 'c' }, ({ attempt }) => attempt)];
    }),
    play: crashingAfter(1, 2, 4, 5),
  },
  names: {
    workflow: defineWorkflow({ name: 'test' }, async ({ step }) => {
      const keys: string[] = [];
      for (const name of [
        'a',
        'a:1',
        'a',
        'a',
        'a:1',
        'charge card',
        '支払',
        '.dot',
        '__proto__',
        'constructor',
        'x'.repeat(256),
      ])
        keys.push(await step.run({ name }, ({ key }) => key));
      await step.sleep('a', 5);
      return keys;
    }),
    play: toTheEnd,
  },
  caught: {
    workflow: defineWorkflow({ name: 'test' }, async ({ step }) => {
      const told: unknown[] = [];
      try {
        await step.run({ name: 'bad', retryPolicy: { maximumAttempts: 2 } }, () => failing('no'));
      } catch (error) {
        if (error instanceof StepError) told.push(error.message, error.cause, error.step);
      }
      try {
        await step.run({ name: 'worse' }, () => {
          throw new NonRetryableError('never', { code: 'E_NEVER', details: { why: ['x'] } });
        });
      } catch (error) {
        if (error instanceof StepError) told.push(error.message, error.cause, error.code, error.details?.['why']);
      }
      await step.sleep('nap', '1h');
      return told;
    }),
    play: toTheEnd,
  },
};
