/** Workflows of a simulated application of the Workflow DevKit, and their replay: events in, what the code does next out. */
import type { DevKitEventName } from '../../../lib/engine/devkit/events.ts';
import type { Prng } from '../prng.ts';

export interface PlannedStep {
  readonly ms: number;
  /** the first attempts fail */
  readonly failures: number;
  readonly mostAttempts: number;
  /** its result is too large for the log */
  readonly isLarge?: boolean;
}

/** A value of the bucket: what is smaller, and compressed, is in the log. */
export const largeText = ` ${'x'.repeat(70_000)}`;

export type Stage =
  | { readonly kind: 'steps'; readonly steps: readonly PlannedStep[] }
  | { readonly kind: 'sleep'; readonly ms: number }
  /** waits for as many payloads, or for the time; then it disposes of the hook, or leaves it to the end of the run */
  | {
      readonly kind: 'hook';
      readonly token: string;
      readonly payloads: number;
      readonly ms: number | undefined;
      readonly disposes: boolean;
    }
  | { readonly kind: 'attribute' };

export interface Plan {
  readonly stages: readonly Stage[];
  readonly end: 'run_completed' | 'run_failed';
  /** `flow and step`: a message for each step. `inline`: a flow message executes steps itself. */
  readonly line: 'flow and step' | 'inline';
  /** the code runs in the function that delivers its messages, and dies with it; otherwise at an address of its own */
  readonly isHosted: boolean;
}

/** An event as the code reads it. */
export interface SeenEvent {
  readonly event: DevKitEventName;
  readonly id: string;
  readonly slot: number;
  readonly text: string | undefined;
  readonly until: number | undefined;
}

export type Action =
  | { readonly kind: 'create-step'; readonly id: string }
  /** it was created and has not ended */
  | { readonly kind: 'run-step'; readonly id: string }
  | { readonly kind: 'create-wait'; readonly id: string; readonly ms: number }
  | { readonly kind: 'wait'; readonly id: string; readonly until: number }
  | { readonly kind: 'create-hook'; readonly id: string; readonly token: string }
  | { readonly kind: 'dispose-hook'; readonly id: string }
  | { readonly kind: 'set-attribute'; readonly id: string };

export type Replayed =
  | { readonly kind: 'ended'; readonly output: string }
  /** nothing to do: it waits for payloads */
  | { readonly kind: 'suspended'; readonly actions: readonly Action[] };

type ByName = ReadonlyMap<string, readonly SeenEvent[]>;

export function replay({ stages }: Plan, events: readonly SeenEvent[]): Replayed {
  const byName = Map.groupBy(events, ({ event, id }) => `${event} ${id}`);
  const results: string[] = [];
  for (const [index, stage] of stages.entries()) {
    const staged = replayStage(stage, index, byName);
    if (typeof staged !== 'string') return { kind: 'suspended', actions: staged };
    results.push(staged);
  }
  return { kind: 'ended', output: results.join(', ') };
}

const firstOf = (byName: ByName, event: DevKitEventName, id: string): SeenEvent | undefined => byName.get(`${event} ${id}`)?.[0];

/** @returns the result of the stage, or what it does next */
function replayStage(stage: Stage, index: number, byName: ByName): string | readonly Action[] {
  switch (stage.kind) {
    case 'steps':
      return replaySteps(stage.steps.length, index, byName);
    case 'sleep':
      return firstOf(byName, 'wait_completed', `wait_${index}`) === undefined ? waitActions(index, stage.ms, byName) : 'slept';
    case 'hook':
      return replayHook(stage, index, byName);
    case 'attribute':
      return firstOf(byName, 'attr_set', `attr_${index}`) === undefined
        ? [{ kind: 'set-attribute', id: `attr_${index}` }]
        : 'set';
  }
}

function replaySteps(count: number, index: number, byName: ByName): string | readonly Action[] {
  const ids = Array.from({ length: count }, (_each, step) => `step_${index}_${step}`);
  const actions: Action[] = [];
  const results: string[] = [];
  for (const id of ids) {
    const completed = firstOf(byName, 'step_completed', id);
    if (completed !== undefined) results.push(completed.text ?? '');
    else if (firstOf(byName, 'step_failed', id) !== undefined) results.push(`${id} failed`);
    else actions.push({ kind: firstOf(byName, 'step_created', id) === undefined ? 'create-step' : 'run-step', id });
  }
  return actions.length === 0 ? results.join(' and ') : actions;
}

function waitActions(index: number, ms: number, byName: ByName): readonly Action[] {
  const id = `wait_${index}`;
  const created = firstOf(byName, 'wait_created', id);
  return [created === undefined ? { kind: 'create-wait', id, ms } : { kind: 'wait', id, until: created.until ?? 0 }];
}

function replayHook(stage: Extract<Stage, { kind: 'hook' }>, index: number, byName: ByName): string | readonly Action[] {
  const id = `hook_${index}`;
  const conflict = firstOf(byName, 'hook_conflict', id);
  const created = firstOf(byName, 'hook_created', id);
  // The first of the two decides.
  if (conflict !== undefined && conflict.slot < (created?.slot ?? Infinity)) return 'conflict';
  const timedOut = firstOf(byName, 'wait_completed', `wait_${index}`);
  const received = (byName.get(`hook_received ${id}`) ?? []).slice(0, stage.payloads);
  const last = received.length < stage.payloads ? undefined : received.at(-1);
  if (last === undefined && timedOut === undefined) {
    if (created === undefined) return [{ kind: 'create-hook', id, token: stage.token }];
    return stage.ms === undefined ? [] : waitActions(index, stage.ms, byName);
  }
  if (stage.disposes && firstOf(byName, 'hook_disposed', id) === undefined) return [{ kind: 'dispose-hook', id }];
  const isInTime = last !== undefined && last.slot < (timedOut?.slot ?? Infinity);
  return isInTime ? received.map(({ text }) => text).join(' and ') : 'timed out';
}

/** Few, so that runs compete for them. */
export const tokens: readonly string[] = ['order', 'order/7', 'approval'];

const longestStepMs = 20_000;
const longestSleepMs = 7_200_000;

export function randomPlan(prng: Prng): Plan {
  const stage = (): Stage => {
    const kind = prng.pick(['steps', 'steps', 'sleep', 'hook', 'hook', 'attribute'] as const);
    if (kind === 'attribute') return { kind };
    if (kind === 'sleep') return { kind, ms: prng.whole(0, prng.pick([2_000, longestSleepMs])) };
    if (kind === 'steps') return { kind, steps: Array.from({ length: prng.pick([1, 1, 2, 5]) }, () => randomStep(prng)) };
    return randomHook(prng);
  };
  return {
    stages: Array.from({ length: prng.whole(1, 5) }, stage),
    end: prng.isLucky(0.1) ? 'run_failed' : 'run_completed',
    line: prng.isLucky(0.5) ? 'inline' : 'flow and step',
    isHosted: prng.isLucky(0.5),
  };
}

export const randomHook = (prng: Prng): Stage => ({
  kind: 'hook',
  token: prng.pick(tokens),
  payloads: prng.whole(1, 2),
  ms: prng.isLucky(0.6) ? prng.whole(1_000, longestSleepMs) : undefined,
  disposes: prng.isLucky(0.6),
});

const randomStep = (prng: Prng): PlannedStep => ({
  ms: prng.whole(1, prng.pick([100, longestStepMs])),
  failures: prng.isLucky(0.3) ? prng.whole(1, 3) : 0,
  mostAttempts: prng.whole(2, 4),
  isLarge: prng.isLucky(0.1),
});
