/** The fields of the form of a schedule as text, and the requests that they make. */
import { defined } from '../../base/defined.ts';
import { isSameJson } from '../../engine/compare.ts';
import type { JsonValue } from '../../engine/json.ts';
import { type OverlapPolicy, overlapPolicies } from '../../engine/schedule/timing.ts';
import type { TimingRequest } from '../../engine/schedule/validate-timing.ts';
import { instant } from '../../engine/time.ts';
import type { Schedule, ScheduleChange, NewSchedule } from '../api.ts';
import { jsonOf } from '../primitives/form-text.ts';

export interface ScheduleForm {
  readonly scheduleId: string;
  readonly workflowName: string;
  readonly version: string;
  readonly input: string;
  readonly kind: 'cron' | 'rate';
  readonly cron: string;
  readonly rate: string;
  readonly timeZone: string;
  /** local times of the browser, as an input of the type datetime-local has them */
  readonly startAt: string;
  readonly endAt: string;
  readonly overlap: string;
}

export const formOf = (schedule: Schedule | undefined): ScheduleForm => ({
  scheduleId: schedule?.scheduleId ?? '',
  workflowName: schedule?.workflowName ?? '',
  version: schedule?.version === undefined ? '' : String(schedule.version),
  input: schedule?.payloadsHidden === true ? '' : JSON.stringify(schedule?.input ?? {}, undefined, 2),
  kind: schedule?.rate === undefined ? 'cron' : 'rate',
  cron: schedule?.cron ?? '',
  rate: schedule?.rate ?? '',
  timeZone: schedule?.timeZone ?? '',
  startAt: localText(schedule?.startAt),
  endAt: localText(schedule?.endAt),
  overlap: schedule?.overlap ?? 'skip',
});

/** For example `2026-11-30T03:00`, in the time zone of the browser. */
function localText(at: string | undefined): string {
  if (at === undefined) return '';
  const date = new Date(at);
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

/** The time in ms since the epoch; undefined for an empty or a half-typed field. */
function timeOf(text: string): number | undefined {
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? undefined : ms;
}

const isoOf = (text: string): string | undefined => {
  const ms = timeOf(text);
  return ms === undefined ? undefined : new Date(ms).toISOString();
};

const timingOf = ({ kind, cron, rate, timeZone }: ScheduleForm) =>
  kind === 'cron'
    ? defined({ cron: cron.trim(), timeZone: timeZone.trim() === '' ? undefined : timeZone.trim() })
    : { rate: rate.trim() };

export function requestOf(form: ScheduleForm): TimingRequest {
  const [startAt, endAt] = [timeOf(form.startAt), timeOf(form.endAt)];
  return {
    ...timingOf(form),
    ...defined({
      startAt: startAt === undefined ? undefined : instant(startAt),
      endAt: endAt === undefined ? undefined : instant(endAt),
    }),
  };
}

const overlapOf = (text: string): OverlapPolicy => overlapPolicies.find((each) => each === text) ?? 'skip';
const versionOf = (text: string): number | undefined => (text.trim() === '' ? undefined : Number(text));

export const newScheduleIn = (form: ScheduleForm): NewSchedule => ({
  scheduleId: form.scheduleId.trim(),
  workflowName: form.workflowName.trim(),
  input: jsonOf(form.input),
  ...timingOf(form),
  ...defined({ version: versionOf(form.version), startAt: isoOf(form.startAt), endAt: isoOf(form.endAt) }),
  overlap: overlapOf(form.overlap),
});

/** Only what differs: a rate that stays the same keeps the times from which it counts. */
export function changesIn(form: ScheduleForm, schedule: Schedule): ScheduleChange {
  const before = formOf(schedule);
  const changed = (...names: readonly (keyof ScheduleForm)[]): boolean => names.some((name) => form[name] !== before[name]);
  const keepsInput = schedule.payloadsHidden === true && form.input.trim() === '';
  const input: JsonValue | undefined = keepsInput ? undefined : jsonOf(form.input);
  return {
    ...(changed('kind', 'cron', 'rate', 'timeZone') ? { ...timingOf(form), ...zoneOf(form) } : {}),
    ...defined({
      workflowName: changed('workflowName') ? form.workflowName.trim() : undefined,
      version: changed('version') ? (versionOf(form.version) ?? null) : undefined,
      input: input === undefined || isSameJson(input, schedule.input ?? {}) ? undefined : input,
      startAt: changed('startAt') ? (isoOf(form.startAt) ?? null) : undefined,
      endAt: changed('endAt') ? (isoOf(form.endAt) ?? null) : undefined,
      overlap: changed('overlap') ? overlapOf(form.overlap) : undefined,
    }),
  };
}

/** An emptied time zone is UTC: an absent one would keep the earlier one. */
const zoneOf = ({ kind, timeZone }: ScheduleForm) => (kind === 'cron' && timeZone.trim() === '' ? { timeZone: 'UTC' } : {});
