import type { Action } from '../command.ts';
import { parseArgument, scheduleId } from '../parse-command-line.ts';
import { formatStatus, formatTable, formatTime } from '../format.ts';
import { formatScheduleState, formatTiming } from './format-schedule.ts';

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
