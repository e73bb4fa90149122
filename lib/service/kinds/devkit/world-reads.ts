/** Reads runs, steps and hooks for the World. Each reads the log to its end: an answer is as new as the request. */
import { defined } from '../../../base/defined.ts';
import { type RunAddress, type Scope, runId, runIdPattern } from '../../../engine/ids.ts';
import type { JsonObject } from '../../../engine/json.ts';
import { type RunStatus, runStatuses } from '../../../engine/log/head.ts';
import { instant } from '../../../engine/time.ts';
import type { ListPosition } from '../../../ports/run-index.ts';
import { listRuns } from '../../runs/list-runs.ts';
import { hookOf, hooksIn, runOf, stepsOf } from './entities.ts';
import { type Page, type Pagination, maxPageBytes, maxPageSize } from './read-events.ts';
import { inlineLimitOf } from './uploads.ts';
import { type DevKitFold, type ResolveData, type World, devKitOf, withRun } from './world.ts';
import { type WorldResult, answer, noRun, refused } from './world-error.ts';

export { encryptionKey } from './encryption-key.ts';

/** Reads the run to the end of its log. */
export async function onRun<Result>(
  world: World,
  scope: Scope,
  id: string,
  use: (fold: DevKitFold) => Promise<WorldResult<Result>>,
): Promise<WorldResult<Result>> {
  if (!runIdPattern.test(id)) return noRun;
  const run: RunAddress = { ...scope, runId: runId(id) };
  return (await withRun(world, run, true, use)) ?? noRun;
}

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

export const defaultPageSize = 100;

interface PageOf<Entry> {
  readonly data: readonly Entry[];
  readonly cursor: string | null;
  readonly hasMore: boolean;
}

/**
 * @param isListed false: the entry is left out. A cursor may name it, because it may have been listed before.
 * @returns undefined if the cursor names nothing of the list
 */
export function pageOf<Entry>(
  all: readonly Entry[],
  nameOf: (entry: Entry) => string,
  { cursor, limit = defaultPageSize }: Pagination,
  isListed: (entry: Entry) => boolean = () => true,
): PageOf<Entry> | undefined {
  const before = cursor === undefined ? -1 : all.findIndex((entry) => nameOf(entry) === cursor);
  if (cursor !== undefined && before === -1) return undefined;
  const rest = all.slice(before + 1).filter(isListed);
  const data = rest.slice(0, Math.min(limit, maxPageSize));
  const last = data.at(-1);
  return { data, cursor: last === undefined ? (cursor ?? null) : nameOf(last), hasMore: data.length < rest.length };
}

/** Each batch has less than the largest answer, even with two values of the log in each entry. */
const viewsInBatch = 50;

/** A page that ends before its answer is too large: its values are in the log, up to 8 KB each. */
export async function withinBytes<Entry>(
  { data: entries, ...page }: PageOf<Entry>,
  nameOf: (entry: Entry) => string,
  load: (batch: readonly Entry[]) => Promise<readonly JsonObject[]>,
): Promise<Page> {
  const data: JsonObject[] = [];
  let bytes = 0;
  for (let first = 0; first < entries.length; first += viewsInBatch) {
    for (const view of await load(entries.slice(first, first + viewsInBatch))) {
      bytes += Buffer.byteLength(JSON.stringify(view));
      const last = entries[data.length - 1];
      if (bytes > maxPageBytes && last !== undefined) return { data, cursor: nameOf(last), hasMore: true };
      data.push(view);
    }
  }
  return { ...page, data };
}

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

/** Each run of a page is read to the end of its log. */
export const maxRunsInPage = 100;
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

export const cursorOf = ({ createdAt, runId: id }: ListPosition): string => `${createdAt}.${id}`;

export function positionOf(cursor: string): ListPosition | undefined {
  const [, time = '', id = ''] = /^(\d{1,15})\.(.{0,64})$/.exec(cursor) ?? [];
  return time === '' ? undefined : { createdAt: instant(Number(time)), runId: id };
}
