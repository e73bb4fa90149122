/** Runs, steps and hooks with their values. A step that has ended keeps them in the log only. */
import { defined } from '../../../base/defined.ts';
import type { DevKitEventName } from '../../../engine/devkit/events.ts';
import { type DevKitHook, type DevKitStep, liveHooks } from '../../../engine/devkit/state.ts';
import type { JsonObject, JsonValue, Payload } from '../../../engine/json.ts';
import type { Commit } from '../../../engine/log/commit.ts';
import { isTerminal } from '../../../engine/log/fold.ts';
import type { Deps } from '../../deps.ts';
import { commitsAt, placedIn, valueOf } from './read-events.ts';
import { hookView, runView, stepView } from './views.ts';
import { type DevKitFold, type ResolveData, devKitOf } from './world.ts';

type ReadDeps = Pick<Deps, 'blobs' | 'clock' | 'log' | 'uploads'>;

export async function runOf(
  deps: ReadDeps,
  fold: DevKitFold,
  resolveData: ResolveData,
  limitBytes?: number,
): Promise<JsonObject> {
  const { head, state } = fold;
  const { run } = devKitOf(fold);
  const error = await valueOf(deps, head, run.error, limitBytes);
  if (resolveData === 'none') return runView(fold, defined({ error }));
  const [creation] = head.commit.events;
  const input = creation?.type === 'DEVKIT' ? await valueOf(deps, head, creation.payload, limitBytes) : undefined;
  const { progress } = state;
  const output = progress.status === 'completed' ? await valueOf(deps, head, progress.output, limitBytes) : undefined;
  return runView(fold, defined({ input, output, error }));
}

const outcomes: ReadonlySet<DevKitEventName> = new Set(['step_completed', 'step_failed', 'step_retrying']);

/** Values in commits that are kept need no read. */
export async function stepsOf(
  deps: ReadDeps,
  fold: DevKitFold,
  steps: readonly DevKitStep[],
  resolveData: ResolveData,
  limitBytes?: number,
): Promise<readonly JsonObject[]> {
  const { address } = fold.head;
  if (resolveData === 'none') return steps.map((step) => stepView(address, step, {}));
  const wanted = steps.flatMap(({ input, createdIn, outcomeIn }) => [
    ...(input === undefined ? [createdIn] : []),
    ...(outcomeIn === undefined ? [] : [outcomeIn]),
  ]);
  const kept = fold.latest?.of(wanted) ?? [];
  const missing = wanted.filter((number) => !kept.some((commit) => commit.number === number));
  const commits = [...(await commitsAt(deps, fold, missing)), ...kept];
  const events = new Map(commits.map((commit) => [commit.number, placedIn(commit)]));
  const valueIn = (
    number: Commit['number'] | undefined,
    stepId: string,
    isWanted: (event: DevKitEventName) => boolean,
  ): Promise<JsonValue | undefined> => {
    const found = number === undefined ? undefined : events.get(number);
    const placed = found?.findLast(({ event }) => event.correlationId === stepId && isWanted(event.event));
    return valueOf(deps, fold.head, placed?.event.payload, limitBytes);
  };
  return Promise.all(
    steps.map(async (step) => {
      const input = await (step.input === undefined
        ? valueIn(step.createdIn, step.stepId, (event) => event === 'step_created')
        : valueOf(deps, fold.head, step.input, limitBytes));
      const outcome = await valueIn(step.outcomeIn, step.stepId, (event) => outcomes.has(event));
      const isCompleted = step.status === 'completed';
      return stepView(
        address,
        step,
        defined({ input, output: isCompleted ? outcome : undefined, error: isCompleted ? undefined : outcome }),
      );
    }),
  );
}

/** The hooks that can be resumed. */
export const hooksIn = (fold: DevKitFold): readonly DevKitHook[] =>
  isTerminal(fold.state.progress) ? [] : liveHooks(devKitOf(fold));

export async function hookOf(
  deps: ReadDeps,
  { head }: DevKitFold,
  hook: { readonly metadata?: Payload } & DevKitHook,
  resolveData: ResolveData,
  limitBytes?: number,
): Promise<JsonObject> {
  return hookView(head.address, hook, resolveData === 'none' ? undefined : await valueOf(deps, head, hook.metadata, limitBytes));
}
