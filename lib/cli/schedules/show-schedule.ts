import type { Action } from '../command.ts';
import { argument, scheduleId } from '../given.ts';
import { status, table, when } from '../words.ts';
import { stateOf, timingOf } from './told.ts';

export const showSchedule: Action = async (given, shell) => {
  const id = argument(given, 0, 'scheduleId', scheduleId);
  const client = await shell.client();
  const schedule = await client.schedules.get(id, { signal: shell.signal });
  const { workflowName, version, overlap, catchUpSeconds, startAt, endAt, nextRunAt, input, lastRun } = schedule;
  const lastly = lastRun && `${lastRun.runId} ${lastRun.status === undefined ? '' : status(shell, lastRun.status)}`.trimEnd();
  const facts: readonly (readonly [string, string | undefined])[] = [
    ['workflow', version === undefined ? workflowName : `${workflowName}@${version}`],
    ['when', timingOf(schedule)],
    ['from', startAt],
    ['until', endAt],
    ['next', nextRunAt && when(nextRunAt, shell.now())],
    ['overlap', overlap],
    ['catch up', `${catchUpSeconds} s`],
    ['input', input === undefined ? undefined : JSON.stringify(input)],
    ['last run', lastly],
  ];
  const fires = schedule.recentFires.map(({ scheduledAt, outcome, runId, code, message }) => [
    scheduledAt,
    outcome,
    runId ?? [code, message].filter((part) => part !== undefined).join(': '),
  ]);
  const text = [
    `${shell.paint('bold', id)}  ${stateOf(shell, schedule)}`,
    ...facts.flatMap(([name, value]) => (value === undefined ? [] : [`${name.padEnd(8)}  ${value}`])),
    ...(fires.length === 0 ? [] : ['', table(shell, ['due', 'outcome', ''], fires)]),
  ].join('\n');
  return { data: schedule, text };
};
