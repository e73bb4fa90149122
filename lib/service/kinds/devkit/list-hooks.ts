/** Lists the hooks of a run, or of all open runs of a scope, in pages that an answer can hold. */
import { defined } from '../../../base/defined.ts';
import type { DevKitHook } from '../../../engine/devkit/state.ts';
import type { Scope } from '../../../engine/ids.ts';
import type { JsonObject } from '../../../engine/json.ts';
import type { ListPosition } from '../../../ports/run-index.ts';
import { listRuns } from '../../runs/list-runs.ts';
import { hookOf, hooksIn } from './entities.ts';
import { type Page, type Pagination, maxPageBytes, maxPageSize } from './read-events.ts';
import { inlineLimitOf } from './uploads.ts';
import { cursorOf, defaultPageSize, maxRunsInPage, pageOf, positionOf, withinBytes } from './pages.ts';
import { type DevKitFold, type ResolveData, type World, devKitOf, onRun } from './world.ts';
import { type WorldResult, answer, refused } from './world-error.ts';

/** The hooks of a run; without one, those of all open runs, newest run first. */
export const listHooks = (
  world: World,
  scope: Scope,
  id: string | undefined,
  pagination: Pagination,
  resolveData: ResolveData,
): Promise<WorldResult<Page>> =>
  id === undefined
    ? listAllHooks(world, scope, pagination, resolveData)
    : onRun(world, scope, id, (fold) => pageOfRun(world, fold, pagination, resolveData));

const wrongCursor = refused('cursor_invalid', 'the cursor is not from this list');

/** A hook that has ended, alone or with its run, is left out. The log keeps it, so that it can still be a cursor. */
async function pageOfRun(
  world: World,
  fold: DevKitFold,
  pagination: Pagination,
  resolveData: ResolveData,
): Promise<WorldResult<Page>> {
  const nameOf = ({ hookId }: DevKitHook): string => hookId;
  const all = [...devKitOf(fold).hooks.entries()].map(([, hook]) => hook);
  const open = new Set(hooksIn(fold).map(nameOf));
  const ordered = pagination.sortOrder === 'asc' ? all : all.toReversed();
  const page = pageOf(ordered, nameOf, pagination, (hook) => open.has(hook.hookId));
  if (page === undefined) return wrongCursor;
  const limitBytes = inlineLimitOf(page.data.length);
  const load = (batch: readonly DevKitHook[]) =>
    Promise.all(batch.map((hook) => hookOf(world.deps, fold, hook, resolveData, limitBytes)));
  return answer(await withinBytes(page, nameOf, load));
}

/** After a run, or within it after a hook. */
interface Position {
  readonly run: ListPosition;
  readonly hookId?: string;
}

/** A page ends after as many hooks, bytes or runs as an answer can hold. */
async function listAllHooks(
  world: World,
  scope: Scope,
  { limit = defaultPageSize, cursor, sortOrder }: Pagination,
  resolveData: ResolveData,
): Promise<WorldResult<Page>> {
  const start = cursor === undefined ? undefined : hookPositionOf(cursor);
  if (cursor !== undefined && start === undefined) return wrongCursor;
  const request = defined({ limit: maxRunsInPage, after: start?.run });
  const { runs, next } = await listRuns(world.deps, scope, { kind: 'devkit' }, request);
  const open = runs.flatMap((run) =>
    'head' in run && (run.status === 'pending' || run.status === 'running')
      ? [{ run: { createdAt: run.head.createdAt, runId: run.head.address.runId } }]
      : [],
  );
  const positions: readonly Position[] = start?.hookId === undefined ? open : [start, ...open];
  const most = Math.min(limit, maxPageSize);
  const data: JsonObject[] = [];
  let bytes = 0;
  let last: string | undefined;
  for (const [index, { run, hookId }] of positions.entries()) {
    const within = defined({ limit: most - data.length, cursor: hookId, sortOrder });
    const hooks = await onRun(world, scope, run.runId, (fold) => pageOfRun(world, fold, within, resolveData));
    // The run has expired since it was listed.
    if (hooks.kind === 'refused' && hooks.code === 'run_not_found') continue;
    if (hooks.kind === 'refused') return hooks;
    for (const hook of hooks.value.data) {
      bytes += Buffer.byteLength(JSON.stringify(hook));
      if (bytes > maxPageBytes && last !== undefined) return answer({ data, cursor: last, hasMore: true });
      data.push(hook);
      last = typeof hook['hookId'] === 'string' ? `${cursorOf(run)}.${hook['hookId']}` : undefined;
    }
    const { hasMore } = hooks.value;
    if (last !== undefined && (hasMore || data.length === most))
      return answer({ data, cursor: last, hasMore: hasMore || index < positions.length - 1 || next !== undefined });
  }
  return answer({ data, cursor: next === undefined ? null : cursorOf(next), hasMore: next !== undefined });
}

/** A position of a run, and then perhaps the id of a hook. */
function hookPositionOf(cursor: string): Position | undefined {
  const [, place = '', hookId] = /^(\d+\.[^.]*)(?:\.(.+))?$/s.exec(cursor) ?? [];
  const run = positionOf(place);
  return run === undefined ? undefined : defined({ run, hookId });
}
