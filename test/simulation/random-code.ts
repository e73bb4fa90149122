/**
 * Random code workflows, drawn from the seed: steps that work, fail and are retried, delays, signals and child runs, in
 * sequence and in parallel. Without a race or a signal, the result of a run is known in advance (`expectedOf`).
 */
import { durationMs } from '../../lib/engine/time.ts';
import { type Step, type StepContext, type Workflow, defineWorkflow } from '../../lib/sdk/index.ts';
import type { Prng } from './prng.ts';
import { simulatedSignalKeys } from './random-graph.ts';

export type Part =
  | {
      readonly kind: 'step';
      readonly ms: number;
      /** the number of attempts that fail first */
      readonly failures: number;
      readonly mostAttempts: number;
      readonly hasRollback: boolean;
      /** absent: as the workflow says */
      readonly isIdempotent?: boolean;
    }
  | { readonly kind: 'sleep'; readonly ms: number }
  | { readonly kind: 'signal'; readonly place: (typeof simulatedSignalKeys)[number]; readonly ms: number }
  | { readonly kind: 'send'; readonly place: (typeof simulatedSignalKeys)[number] }
  | { readonly kind: 'child'; readonly name: string; readonly ms: number }
  | { readonly kind: 'throw' }
  | { readonly kind: Join; readonly parts: readonly Part[] };

type Join = 'seq' | 'all' | 'allSettled' | 'race' | 'any';

export interface CodeWorkflow {
  readonly name: string;
  readonly part: Part;
  /** attempts of the workflow as a whole */
  readonly mostAttempts: number;
  /** its steps are idempotent: a step function may start before the previous batch is committed */
  readonly isIdempotent: boolean;
}

/** The calls of a step function into the simulation. */
export interface StepEffects {
  /**
   * A step function has started, in the process of the workflow task.
   * @param mayOverlap it may start before the previous batch is committed
   * @param mayShare its result may share a commit with those of the steps after it
   */
  began(runId: string, context: StepContext, mayOverlap: boolean, mayShare: boolean): void;
  ended?(runId: string, context: StepContext): void;
  undone(runId: string, context: StepContext): void | Promise<void>;
  sleep(ms: ReturnType<typeof durationMs>, signal: AbortSignal): Promise<void>;
}

/** No time limit. */
const endless = 0;
/** More failures than any policy allows. */
const always = 1_000;

/** Names of child workflows, which start no child runs themselves. */
export const leafNames = { graph: 'leaf-graph', code: 'leaf-code' } as const;

export function randomCode(prng: Prng, name: string, mix: { readonly isBrisk: boolean }): CodeWorkflow {
  const mostAttempts = prng.isLucky(0.2) ? 2 : 1;
  return { name, mostAttempts, isIdempotent: prng.isLucky(0.2), part: randomPart(prng, prng.whole(1, 3), mix) };
}

/**
 * Steps in a row, most of them short and idempotent, now and then with something that ends a pack.
 * @param idempotent the share of idempotent steps
 */
export function randomCodeChain(prng: Prng, name: string, idempotent: number): CodeWorkflow {
  const step = (): Part => {
    const failures = prng.pick([0, 0, 0, 0, 0, 0, 1]);
    return {
      kind: 'step',
      ms: prng.pick([0, 1, 5, 5, 20, 300]),
      failures,
      mostAttempts: failures === 0 ? prng.pick([1, 3]) : 10,
      hasRollback: prng.isLucky(0.1),
      isIdempotent: prng.isLucky(idempotent),
    };
  };
  const parts = Array.from({ length: prng.whole(3, 16) }, (): Part => {
    const dice = prng.next();
    if (dice < 0.08) return { kind: 'all', parts: Array.from({ length: prng.whole(2, 4) }, step) };
    if (dice < 0.13) return { kind: 'sleep', ms: prng.pick([300, 20_000]) };
    if (dice < 0.18) return { kind: 'race', parts: [step(), { kind: 'sleep', ms: prng.pick([0, 300]) }] };
    return dice < 0.21 ? { kind: 'send', place: prng.pick(simulatedSignalKeys) } : step();
  });
  const row: Part = { kind: 'seq', parts };
  // Beside a short wait, two of them in a row, so that its end comes between the results.
  const wait: Part = { kind: 'seq', parts: [{ kind: 'sleep', ms: prng.pick([20, 300]) }, step(), { kind: 'sleep', ms: 20 }] };
  const part: Part = prng.isLucky(0.3) ? { kind: 'all', parts: [row, wait] } : row;
  return { name, mostAttempts: 1, isIdempotent: false, part };
}

function randomPart(prng: Prng, depth: number, mix: { readonly isBrisk: boolean }): Part {
  if (depth > 0 && prng.isLucky(depth === 3 ? 1 : 0.55)) {
    const kind = prng.pick(['seq', 'seq', 'seq', 'all', 'all', 'allSettled', 'race', 'any'] as const);
    return { kind, parts: Array.from({ length: prng.whole(1, 4) }, () => randomPart(prng, depth - 1, mix)) };
  }
  const dice = prng.next();
  if (dice < 0.12 && !mix.isBrisk) return { kind: 'sleep', ms: prng.pick([0, 300, 20_000, 600_000, 7_200_000]) };
  if (dice < 0.2 && !mix.isBrisk)
    return { kind: 'signal', place: prng.pick(simulatedSignalKeys), ms: prng.pick([endless, 20_000, 600_000]) };
  if (dice < 0.26) return { kind: 'send', place: prng.pick(simulatedSignalKeys) };
  if (dice < 0.36) {
    const patience = mix.isBrisk ? endless : prng.pick([endless, endless, 30_000]);
    return { kind: 'child', name: prng.pick([leafNames.graph, leafNames.code]), ms: patience };
  }
  if (dice < 0.39) return { kind: 'throw' };
  const failures = prng.pick([0, 0, 0, 0, 1, 2, always]);
  return {
    kind: 'step',
    ms: prng.pick([0, 0, 5, 50, 800, 12_000, 200_000]),
    failures,
    // Lost attempts count too: a step that fails a few times needs more attempts.
    mostAttempts: failures === 0 || failures === always ? prng.pick([1, 3]) : 10,
    hasRollback: prng.isLucky(0.3),
  };
}

export const leafCode: CodeWorkflow = {
  name: leafNames.code,
  mostAttempts: 1,
  isIdempotent: false,
  part: { kind: 'step', ms: 50, failures: 1, mostAttempts: 10, hasRollback: false },
};

/** @param world the calls of the process whose thread runs the code */
export function workflowOf({ name, part, mostAttempts, isIdempotent }: CodeWorkflow, world: StepEffects): Workflow {
  const spec = { name, retryPolicy: { maximumAttempts: mostAttempts, initialInterval: 2_000 } };
  return defineWorkflow<unknown, string>(spec, async ({ step, run }) =>
    play(part, { step, runId: run.id, world, isIdempotent }, '0'),
  );
}

interface Going {
  readonly step: Step;
  readonly runId: string;
  readonly world: StepEffects;
  readonly isIdempotent: boolean;
}

async function play(part: Part, going: Going, path: string): Promise<string> {
  const { step, runId, world } = going;
  switch (part.kind) {
    case 'step': {
      const isIdempotent = part.isIdempotent ?? going.isIdempotent;
      return step.run(
        {
          name: `work-${path}`,
          idempotent: isIdempotent,
          retryPolicy: { initialInterval: 1_000, maximumAttempts: part.mostAttempts },
          ...(part.hasRollback ? { rollback: (context) => world.undone(runId, context) } : {}),
        },
        async (context) => {
          world.began(runId, context, isIdempotent, isIdempotent && !part.hasRollback);
          if (part.ms > 0) await world.sleep(durationMs(part.ms), context.signal);
          world.ended?.(runId, context);
          if (context.attempt <= part.failures) throw new Error(`no ${path}`);
          return `did ${path}`;
        },
      );
    }
    case 'sleep':
      await step.sleep(`nap-${path}`, part.ms);
      return `slept ${path}`;
    case 'signal': {
      const { name, correlation } = part.place;
      const waited = { name: `wait-${path}`, signal: name, correlation, ...(part.ms === endless ? {} : { timeout: part.ms }) };
      return `heard ${JSON.stringify(await step.waitForSignal(waited))}`;
    }
    case 'send': {
      const { name, correlation } = part.place;
      return `sent ${(await step.sendSignal({ name: `send-${path}`, signal: name, correlation, data: path })).signalId.length > 0}`;
    }
    case 'child': {
      const options = { name: `call-${path}`, ...(part.ms === endless ? {} : { timeout: part.ms }) };
      await step.runWorkflow({ name: part.name }, {}, options);
      return `called ${path}`;
    }
    case 'throw':
      throw new Error(`thrown ${path}`);
    case 'seq': {
      const all: string[] = [];
      for (const [index, each] of part.parts.entries()) all.push(await caught(() => play(each, going, `${path}.${index}`)));
      return `(${all.join(', ')})`;
    }
    case 'all':
      // The order of several failures depends on timing.
      return `[${(await Promise.all(each(part.parts, going, path)).catch(() => Promise.reject(new Error(`not all ${path}`)))).join(', ')}]`;
    case 'allSettled': {
      const settled = await Promise.allSettled(each(part.parts, going, path));
      return `{${settled.map((one) => (one.status === 'fulfilled' ? one.value : spelled(one.reason))).join(', ')}}`;
    }
    case 'race':
      return `first ${await Promise.race(each(part.parts, going, path))}`;
    case 'any':
      return `any ${await Promise.any(each(part.parts, going, path))}`;
  }
}

const each = (parts: readonly Part[], going: Going, path: string): readonly Promise<string>[] =>
  parts.map((one, index) => play(one, going, `${path}.${index}`));

async function caught(go: () => Promise<string>): Promise<string> {
  try {
    return await go();
  } catch (error) {
    return `caught ${spelled(error)}`;
  }
}

const spelled = (error: unknown): string => {
  if (error instanceof AggregateError) return `none of ${error.errors.map(spelled).join(', ')}`;
  return error instanceof Error ? error.message : 'nothing that is an error';
};

/** Parts whose result depends on timing: races and signals. */
const isByChance = (part: Part): boolean => {
  switch (part.kind) {
    case 'race':
    case 'any':
    case 'signal':
      return true;
    case 'child':
      return part.ms !== endless;
    case 'seq':
    case 'all':
    case 'allSettled':
      return part.parts.some(isByChance);
    default:
      return false;
  }
};

export type Expected = { readonly status: 'completed'; readonly output: string } | { readonly status: 'failed' };

/** The result of a run that is not cancelled: the same with all faults. Undefined where it depends on timing. */
export async function expectedOf({ part, isIdempotent }: CodeWorkflow): Promise<Expected | undefined> {
  if (isByChance(part)) return undefined;
  try {
    return { status: 'completed', output: await play(part, { step: perfect(), runId: '', world: nowhere, isIdempotent }, '0') };
  } catch {
    return { status: 'failed' };
  }
}

const nowhere: StepEffects = { began: () => {}, undone: () => {}, sleep: async () => {} };

/** A platform without faults and without memory. */
function perfect(): Step {
  return {
    run: async ({ retryPolicy: { maximumAttempts = 1 } = {} }, body) => {
      const signal = new AbortController().signal;
      for (let attempt = 1; ; attempt += 1) {
        try {
          return (await body({ signal, attempt, key: '' })) as never;
        } catch (error) {
          if (attempt >= maximumAttempts) throw error;
        }
      }
    },
    sleep: async () => {},
    sleepUntil: async () => {},
    runWorkflow: async () => null as never,
    waitForSignal: async () => null,
    sendSignal: async () => ({ signalId: 'one' }),
  };
}
