/** Random workflows: steps that succeed, fail and are retried, sleeps and signals, in sequence and in parallel. */
import fc from 'fast-check';
import { durationMs } from '../../lib/engine/time.ts';
import { type Step, type StepContext, type Workflow, StepError, defineWorkflow } from '../../lib/sdk/index.ts';
import type { VirtualClock } from './virtual-clock.ts';

export type Part =
  | {
      readonly kind: 'step';
      readonly ms: number;
      readonly ticks: number;
      readonly failures: number;
      readonly isFatal: boolean;
      readonly idempotent: boolean;
    }
  | { readonly kind: 'sleep'; readonly ms: number }
  | { readonly kind: 'signal' }
  | { readonly kind: 'child' }
  | { readonly kind: 'send' }
  | { readonly kind: 'seq' | 'all' | 'allSettled' | 'race' | 'any'; readonly parts: readonly Part[] };

const leaf: fc.Arbitrary<Part> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('step' as const),
      ms: fc.constantFrom(0, 0, 1, 5, 20, 300),
      ticks: fc.nat(6),
      failures: fc.constantFrom(0, 0, 0, 1, 2),
      isFatal: fc.constantFrom(false, false, false, false, true),
      idempotent: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('sleep' as const), ms: fc.constantFrom(0, 1, 10, 5_000) }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'signal' as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'child' as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'send' as const }) },
);

/** @param joins the allowed parallel forms: the result of a race depends on timing, which a crash changes */
export const programs = (joins: readonly Extract<Part, { parts: unknown }>['kind'][]): fc.Arbitrary<Part> =>
  fc.letrec<{ part: Part }>((tie) => ({
    part: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      { weight: 3, arbitrary: leaf },
      {
        weight: 4,
        arbitrary: fc.record({
          kind: fc.constantFrom(...joins),
          parts: fc.array(tie('part'), { minLength: 1, maxLength: 4 }),
        }),
      },
    ),
  })).part;

export function workflowOf(part: Part, clock: VirtualClock, onBegin: (context: StepContext) => void): Workflow {
  // State outside of the workflow: the attempts that an external service has seen.
  const tries = new Map<string, number>();
  return defineWorkflow({ name: 'test' }, async ({ step, random }) => {
    const said = await caught(() => play(part, step, '0'));
    return `${said} ${random()}`;
  });

  async function play(part: Part, step: Step, path: string): Promise<string> {
    switch (part.kind) {
      case 'step':
        return step.run({ name: 'work', idempotent: part.idempotent, retryPolicy: { initialInterval: 400 } }, async (context) => {
          onBegin(context);
          if (part.ms > 0) await clock.sleep(durationMs(part.ms));
          for (let tick = 0; tick < part.ticks; tick += 1) await Promise.resolve();
          const tried = tries.get(path) ?? 0;
          tries.set(path, tried + 1);
          if (part.isFatal || tried < part.failures)
            throw Object.assign(new Error(`no ${path}`), part.isFatal ? { code: 'fatal' } : {});
          return `did ${path}`;
        });
      case 'sleep':
        await step.sleep('nap', part.ms);
        return `slept ${path}`;
      case 'signal':
        return `heard ${JSON.stringify(await step.waitForSignal({ signal: 'go' }))}`;
      case 'child':
        return `called ${JSON.stringify(await step.runWorkflow<string, string, string>({ name: 'child' }, path))}`;
      case 'send':
        return `sent ${(await step.sendSignal({ signal: 'out', correlation: 'x', data: path })).signalId}`;
      case 'seq': {
        const all: string[] = [];
        for (const [index, each] of part.parts.entries()) all.push(await caught(() => play(each, step, `${path}.${index}`)));
        return `(${all.join(', ')})`;
      }
      case 'all':
        return `[${(await Promise.all(each(part.parts, step, path))).join(', ')}]`;
      case 'allSettled': {
        const settled = await Promise.allSettled(each(part.parts, step, path));
        return `{${settled.map((one) => (one.status === 'fulfilled' ? one.value : spelled(one.reason))).join(', ')}}`;
      }
      case 'race':
        return `first ${await Promise.race(each(part.parts, step, path))}`;
      case 'any':
        return `any ${await Promise.any(each(part.parts, step, path))}`;
    }
  }

  function each(parts: readonly Part[], step: Step, path: string): readonly Promise<string>[] {
    return parts.map((one, index) => play(one, step, `${path}.${index}`));
  }
}

async function caught(go: () => Promise<string>): Promise<string> {
  try {
    return await go();
  } catch (error) {
    return `caught ${spelled(error)}`;
  }
}

const spelled = (error: unknown): string => {
  if (error instanceof StepError) return `StepError ${error.code ?? error.cause} ${error.message}`;
  if (error instanceof AggregateError) return `none of ${error.errors.map(spelled).join(', ')}`;
  throw error;
};
