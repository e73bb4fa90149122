/** Which run a run was made from: said in its first commit, so that its head alone can tell. */
import {
  type NodeId,
  type RunId,
  type ScheduleId,
  nodeId,
  nodeIdPattern,
  runId,
  runIdPattern,
  scheduleId,
  scheduleIdPattern,
} from '../ids.ts';
import type { JsonValue } from '../json.ts';
import { type Instant, instant } from '../time.ts';
import type { RunCreation } from './head.ts';

const rerunOfKey = '__rerunOf';
const rerunFromKey = '__rerunFrom';

export const systemOfRerun = (of: RunId, from?: NodeId): Readonly<Record<string, JsonValue>> => ({
  [rerunOfKey]: of,
  ...(from === undefined ? {} : { [rerunFromKey]: from }),
});

/** The run that this one runs again; undefined where it is no rerun. */
export function rerunOf(run: Pick<RunCreation, 'commit'>): RunId | undefined {
  const value = said(run, rerunOfKey);
  return value !== undefined && runIdPattern.test(value) ? runId(value) : undefined;
}

/** The node that this run went on from; undefined where it began anew. */
export function rerunFrom(run: Pick<RunCreation, 'commit'>): NodeId | undefined {
  const value = said(run, rerunFromKey);
  return value !== undefined && nodeIdPattern.test(value) ? nodeId(value) : undefined;
}

const scheduleIdKey = '__scheduleId';
const scheduledAtKey = '__scheduledAt';

export const systemOfSchedule = (id: ScheduleId, scheduledAt: Instant): Readonly<Record<string, JsonValue>> => ({
  [scheduleIdKey]: id,
  [scheduledAtKey]: String(scheduledAt),
});

/** The schedule that started this run, and the time that was due; undefined where somebody asked for it. */
export function scheduleOf(
  run: Pick<RunCreation, 'commit'>,
): { readonly scheduleId: ScheduleId; readonly scheduledAt: Instant } | undefined {
  const id = said(run, scheduleIdKey);
  const at = said(run, scheduledAtKey);
  if (id === undefined || at === undefined || !scheduleIdPattern.test(id) || !/^\d{1,15}$/.test(at)) return undefined;
  return { scheduleId: scheduleId(id), scheduledAt: instant(Number(at)) };
}

function said({ commit }: Pick<RunCreation, 'commit'>, key: string): string | undefined {
  for (const event of commit.events) {
    if (event.type !== 'SYSTEM_SET' || event.key !== key || !('value' in event.value)) continue;
    const { value } = event.value;
    if (typeof value === 'string') return value;
  }
  return undefined;
}
