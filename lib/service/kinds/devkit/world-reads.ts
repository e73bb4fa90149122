/** Reads runs, steps and hooks for the World. Each reads the log to its end: an answer is as new as the request. */
import { defined } from '../../../base/defined.ts';
import type { Scope } from '../../../engine/ids.ts';
import type { JsonObject } from '../../../engine/json.ts';
import { type RunStatus, runStatuses } from '../../../engine/log/head.ts';
import { listRuns } from '../../runs/list-runs.ts';
import { hookOf, hooksIn, runOf, stepsOf } from './entities.ts';
import { cursorOf, defaultPageSize, maxRunsInPage, pageOf, positionOf, withinBytes } from './pages.ts';
import type { Page, Pagination } from './read-events.ts';
import { inlineLimitOf } from './uploads.ts';
import { type ResolveData, type World, devKitOf, onRun } from './world.ts';
import { type WorldResult, answer, refused } from './world-error.ts';

export { encryptionKey } from './encryption-key.ts';
export { listHooks } from './list-hooks.ts';
export { onRun } from './world.ts';

export const getRun = (
  world: World,
  scope: Scope,
  id: string,
  resolveData: ResolveData,
  limitBytes?: number,
): Promise<WorldResult<JsonObject>> =>
  onRun(world, scope, id, async (fold) => answer(await runOf(world.deps, fold, resolveData, limitBytes)));

export const getStep = (
  world: World,
  scope: Scope,
  id: string,
  stepId: string,
  resolveData: ResolveData,
): Promise<WorldResult<JsonObject>> =>
  onRun(world, scope, id, async (fold) => {
    const step = devKitOf(fold).steps.get(stepId);
    const [view] = step === undefined ? [] : await stepsOf(world.deps, fold, [step], resolveData);
    return view === undefined ? refused('step_not_found', `step ${stepId} does not exist`) : answer(view);
  });

/** Newest first, by default. */
export const listSteps = (
  world: World,
  scope: Scope,
  id: string,
  pagination: Pagination,
  resolveData: ResolveData,
): Promise<WorldResult<Page>> =>
  onRun(world, scope, id, async (fold) => {
    const steps = [...devKitOf(fold).steps.entries()].map(([, step]) => step);
    const ordered = pagination.sortOrder === 'asc' ? steps : steps.toReversed();
    const page = pageOf(ordered, ({ stepId }) => stepId, pagination);
    if (page === undefined) return refused('cursor_invalid', 'the cursor is not from this list');
    const limitBytes = inlineLimitOf(page.data.length);
    return answer(
      await withinBytes(
        page,
        ({ stepId }) => stepId,
        (batch) => stepsOf(world.deps, fold, batch, resolveData, limitBytes),
      ),
    );
  });

const noHook = (id: string) => refused('hook_not_found', `hook ${id} does not exist`);

export async function getHook(
  world: World,
  scope: Scope,
  hookId: string,
  resolveData: ResolveData,
): Promise<WorldResult<JsonObject>> {
  const owner = await world.deps.hookTokens.runOfHook(scope, hookId);
  if (owner === undefined) return noHook(hookId);
  return onRun(world, scope, owner, async (fold) => {
    const hook = hooksIn(fold).find((each) => each.hookId === hookId);
    return hook === undefined ? noHook(hookId) : answer(await hookOf(world.deps, fold, hook, resolveData));
  });
}

export async function getHookByToken(
  world: World,
  scope: Scope,
  token: string,
  resolveData: ResolveData,
): Promise<WorldResult<JsonObject>> {
  const claim = await world.deps.hookTokens.find(scope, token);
  if (claim === undefined) return refused('hook_not_found', 'no hook has this token');
  const found = await onRun(world, scope, claim.runId, async (fold) => {
    const hook = hooksIn(fold).find((each) => each.hookId === claim.hookId && each.token === token);
    return hook === undefined ? noHook(claim.hookId) : answer(await hookOf(world.deps, fold, hook, resolveData));
  });
  return found.kind === 'refused' && found.code === 'run_not_found' ? noHook(claim.hookId) : found;
}

export interface WorldRunFilters {
  readonly workflowName?: string;
  /** absent: all */
  readonly statuses?: readonly RunStatus[];
}

const readsAtOnce = 10;

export async function listWorldRuns(
  world: World,
  scope: Scope,
  { workflowName, statuses = runStatuses }: WorldRunFilters,
  { limit = defaultPageSize, cursor }: Pagination,
  resolveData: ResolveData,
): Promise<WorldResult<Page>> {
  const after = cursor === undefined ? undefined : positionOf(cursor);
  if (cursor !== undefined && after === undefined) return refused('cursor_invalid', 'the cursor is not from this list');
  const { deps } = world;
  const filters = defined({ kind: 'devkit' as const, workflowName, status: statuses.length === 1 ? statuses[0] : undefined });
  const { runs, next } = await listRuns(deps, scope, filters, defined({ limit: Math.min(limit, maxRunsInPage), after }));
  const wanted = runs.flatMap((run) => ('head' in run && statuses.includes(run.status) ? [run.head.address] : []));
  const data: JsonObject[] = [];
  for (let first = 0; first < wanted.length; first += readsAtOnce) {
    const read = wanted
      .slice(first, first + readsAtOnce)
      .map((run) => getRun(world, scope, run.runId, resolveData, inlineLimitOf(wanted.length)));
    for (const each of await Promise.all(read)) if (each.kind === 'answered') data.push(each.value);
  }
  return answer({ data, cursor: next === undefined ? null : cursorOf(next), hasMore: next !== undefined });
}
