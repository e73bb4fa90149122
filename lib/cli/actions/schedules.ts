/** `stepwell schedules …`. */
import * as z from 'zod';
import { type Action, type CommandContext, usageError } from '../command.ts';
import { formatStatus, formatTable, formatTime } from '../format.ts';
import { listOptions, moreRowsHint, readRows } from '../pages.ts';
import {
  inputOptions,
  integerBetween,
  omitUndefined,
  parseArgument,
  parseOptions,
  readInput,
  scheduleId,
  timestamp,
  workflowName,
} from '../parse-command-line.ts';
import type { ScheduleSummary } from '../../client/index.ts';
import { overlapPolicies } from '../../engine/schedule/timing.ts';

const nonEmptyText = z.string().min(1, 'must not be empty');
export const scheduleOptions = {
  ...inputOptions,
  workflow: workflowName.optional(),
  cron: nonEmptyText.optional(),
  rate: nonEmptyText.optional(),
  timeZone: nonEmptyText.optional(),
  overlap: z.enum(overlapPolicies).optional(),
  catchUpSeconds: integerBetween(120, 86_400).optional(),
};
const scheduleSchema = z.object(scheduleOptions);
export const versionNumber = integerBetween(1, Number.MAX_SAFE_INTEGER);

/** The options as fields of a request body, without undefined values. @throws CliError */
export function readScheduleOptions(cwd: string, options: z.output<typeof scheduleSchema>) {
  const { workflow, cron, rate, timeZone, overlap, catchUpSeconds } = options;
  if (cron !== undefined && rate !== undefined) throw usageError('--cron and --rate exclude each other.');
  return omitUndefined({ workflowName: workflow, input: readInput(cwd, options), cron, rate, timeZone, overlap, catchUpSeconds });
}

const createScheduleOptions = z.object({
  ...scheduleOptions,
  workflow: workflowName,
  workflowVersion: versionNumber.optional(),
  startAt: timestamp.optional(),
  endAt: timestamp.optional(),
  paused: z.boolean().default(false),
});

export const createSchedule: Action = async (commandLine, context) => {
  const id = parseArgument(commandLine, 0, 'scheduleId', scheduleId);
  const options = parseOptions(commandLine, createScheduleOptions);
  const { workflow, workflowVersion: version, startAt, endAt, paused } = options;
  const body = {
    ...readScheduleOptions(context.cwd, options),
    ...omitUndefined({ version, startAt, endAt }),
    workflowName: workflow,
    paused,
  };
  const client = await context.client();
  const schedule = await client.schedules.create({ scheduleId: id, ...body }, { signal: context.signal });
  return { data: schedule, text: formatNextRun(context, schedule) };
};

/** A word that removes a value. */
const nullWord = (word: string) => z.literal(word).transform(() => null);
const updateScheduleOptions = z.object({
  ...scheduleOptions,
  workflowVersion: z.union([nullWord('latest'), versionNumber], { error: 'must be a number or "latest"' }).optional(),
  startAt: z.union([nullWord('none'), timestamp], { error: 'must be a time such as 2026-01-31T12:00:00Z, or "none"' }).optional(),
  endAt: z.union([nullWord('none'), timestamp], { error: 'must be a time such as 2026-01-31T12:00:00Z, or "none"' }).optional(),
});

export const updateSchedule: Action = async (commandLine, context) => {
  const id = parseArgument(commandLine, 0, 'scheduleId', scheduleId);
  const options = parseOptions(commandLine, updateScheduleOptions);
  const { workflowVersion: version, startAt, endAt } = options;
  const body = { ...readScheduleOptions(context.cwd, options), ...omitUndefined({ version, startAt, endAt }) };
  if (Object.keys(body).length === 0) throw usageError('Give at least one option to change.');
  const client = await context.client();
  const changed = await client.schedules.update(id, body, { signal: context.signal });
  return { data: changed, text: formatNextRun(context, changed) };
};

export const pauseSchedule: Action = async (commandLine, context) => {
  const id = parseArgument(commandLine, 0, 'scheduleId', scheduleId);
  const client = await context.client();
  const paused = await client.schedules.pause(id, { signal: context.signal });
  return { data: paused, text: formatNextRun(context, paused) };
};

export const resumeSchedule: Action = async (commandLine, context) => {
  const id = parseArgument(commandLine, 0, 'scheduleId', scheduleId);
  const client = await context.client();
  const resumed = await client.schedules.resume(id, { signal: context.signal });
  return { data: resumed, text: formatNextRun(context, resumed) };
};

export const deleteSchedule: Action = async (commandLine, context) => {
  const id = parseArgument(commandLine, 0, 'scheduleId', scheduleId);
  const client = await context.client();
  const deleted = await client.schedules.delete(id, { signal: context.signal });
  return { data: deleted, text: `${id} is deleted; runs that it started continue.` };
};

const listSchedulesOptions = z.object(listOptions);

export const listSchedules: Action = async (commandLine, context) => {
  const options = parseOptions(commandLine, listSchedulesOptions);
  const client = await context.client();
  const found = await readRows(options, (page) => client.schedules.list(page, { signal: context.signal }));
  const rows = found.items.map((schedule) => [
    schedule.scheduleId,
    schedule.version === undefined ? schedule.workflowName : `${schedule.workflowName}@${schedule.version}`,
    formatTiming(schedule),
    formatScheduleState(context, schedule),
    schedule.nextRunAt ?? '',
    schedule.lastRun?.runId ?? '',
    schedule.lastFailure === undefined
      ? ''
      : `${schedule.lastFailure.scheduledAt}: ${schedule.lastFailure.code ?? schedule.lastFailure.outcome}`,
  ]);
  const headers = ['schedule', 'workflow', 'when', 'state', 'next', 'last run', 'last failure'];
  const text =
    rows.length === 0 ? 'No schedule matches.' : [formatTable(context, headers, rows), ...moreRowsHint(found)].join('\n');
  return { data: found, text };
};

export const showSchedule: Action = async (commandLine, context) => {
  const id = parseArgument(commandLine, 0, 'scheduleId', scheduleId);
  const client = await context.client();
  const schedule = await client.schedules.get(id, { signal: context.signal });
  const { workflowName, version, overlap, catchUpSeconds, startAt, endAt, nextRunAt, input, lastRun } = schedule;
  const lastRunText =
    lastRun && `${lastRun.runId} ${lastRun.status === undefined ? '' : formatStatus(context, lastRun.status)}`.trimEnd();
  const fields: readonly (readonly [string, string | undefined])[] = [
    ['workflow', version === undefined ? workflowName : `${workflowName}@${version}`],
    ['when', formatTiming(schedule)],
    ['from', startAt],
    ['until', endAt],
    ['next', nextRunAt && formatTime(nextRunAt, context.now())],
    ['overlap', overlap],
    ['catch up', `${catchUpSeconds} s`],
    ['input', input === undefined ? undefined : JSON.stringify(input)],
    ['last run', lastRunText],
  ];
  const fires = schedule.recentFires.map(({ scheduledAt, outcome, runId, code, message }) => [
    scheduledAt,
    outcome,
    runId ?? [code, message].filter((part) => part !== undefined).join(': '),
  ]);
  const text = [
    `${context.colorize('bold', id)}  ${formatScheduleState(context, schedule)}`,
    ...fields.flatMap(([name, value]) => (value === undefined ? [] : [`${name.padEnd(8)}  ${value}`])),
    ...(fires.length === 0 ? [] : ['', formatTable(context, ['due', 'outcome', ''], fires)]),
  ].join('\n');
  return { data: schedule, text };
};

/** `0 3 ? * MON-FRI * (Europe/Berlin)`, `every 5 minutes`. */
export const formatTiming = ({ cron, rate, timeZone }: ScheduleSummary): string =>
  cron === undefined ? `every ${rate}` : `${cron} (${timeZone ?? 'UTC'})`;

export const formatScheduleState = (
  context: Pick<CommandContext, 'colorize'>,
  { paused, nextRunAt }: ScheduleSummary,
): string => {
  if (paused) return formatStatus(context, 'waiting').replace('waiting', 'paused');
  return nextRunAt === undefined ? formatStatus(context, 'skipped').replace('skipped', 'ended') : formatStatus(context, 'active');
};

/** The state of a schedule after a change. */
export const formatNextRun = (context: Pick<CommandContext, 'now'>, schedule: ScheduleSummary): string => {
  const { scheduleId, paused, nextRunAt } = schedule;
  if (paused) return `${scheduleId} is paused.`;
  return nextRunAt === undefined
    ? `${scheduleId} has ended.`
    : `${scheduleId} runs next at ${formatTime(nextRunAt, context.now())}.`;
};
