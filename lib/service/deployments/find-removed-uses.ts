/**
 * Finds what still uses workflows that an activation removes: open runs, which end on their own deployment, and schedules, which would
 * fail from then on. The search reads a limited number of pins and schedules, so the counts are lower bounds.
 */
import type { AppName, Scope, ScheduleId } from '../../engine/ids.ts';
import { type Head, terminalStatuses } from '../../engine/log/head.ts';
import { type ActivePointer, activeApp } from '../../ports/deployments.ts';
import type { Deps } from '../deps.ts';

/** What uses a removed workflow. */
export interface RemovedUse {
  readonly workflow: string;
  readonly openRuns: number;
  readonly schedules: readonly ScheduleId[];
}

/** Maximum number of pins that are read for each deployment of the app. */
const maxPinsRead = 100;
const schedulesPerPage = 100;
const maxSchedulesRead = 1_000;

type Needs = Pick<Deps, 'deployments' | 'log' | 'schedules'>;

/** @param removed the workflows that the app would have no more */
export async function findRemovedUses(
  deps: Needs,
  scope: Scope,
  { pointer, app, removed }: { readonly pointer: ActivePointer; readonly app: AppName; readonly removed: readonly string[] },
): Promise<readonly RemovedUse[]> {
  if (removed.length === 0) return [];
  const [openRuns, schedules] = await Promise.all([
    countOpenRuns(deps, scope, pointer, app),
    findSchedules(deps, scope, new Set(removed)),
  ]);
  return removed.flatMap((workflow) => {
    const use = { workflow, openRuns: openRuns.get(workflow) ?? 0, schedules: schedules.get(workflow) ?? [] };
    return use.openRuns + use.schedules.length === 0 ? [] : [use];
  });
}

/** By workflow: the open runs that pin a deployment of the app's history. */
async function countOpenRuns(
  { deployments, log }: Needs,
  scope: Scope,
  pointer: ActivePointer,
  app: AppName,
): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  const ids = new Set(activeApp(pointer, app)?.history.map((each) => each.deploymentId));
  for (const id of ids) {
    const pins = await deployments.pinnedRuns(scope, id, maxPinsRead);
    if (pins.length === 0) continue;
    const heads = await log.heads(pins.map(({ runId }) => ({ ...scope, runId })));
    for (const head of heads) {
      if (head === undefined || hasEnded(head)) continue;
      const { name } = head.workflow;
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
  }
  return counts;
}

async function findSchedules(
  { schedules }: Needs,
  scope: Scope,
  names: ReadonlySet<string>,
): Promise<ReadonlyMap<string, readonly ScheduleId[]>> {
  const found = new Map<string, ScheduleId[]>();
  let after: ScheduleId | undefined;
  for (let read = 0; read < maxSchedulesRead; read += schedulesPerPage) {
    const page = await schedules.list(
      scope,
      after === undefined ? { limit: schedulesPerPage } : { limit: schedulesPerPage, after },
    );
    for (const { scheduleId, definition } of page.schedules)
      if (names.has(definition.workflowName))
        found.set(definition.workflowName, [...(found.get(definition.workflowName) ?? []), scheduleId]);
    after = page.next;
    if (after === undefined) break;
  }
  return found;
}

export const hasEnded = ({ projection }: Head): boolean => terminalStatuses.some((status) => status === projection.status);
