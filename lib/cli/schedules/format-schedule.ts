/** Schedules in a person's words. */
import type { ScheduleSummary } from '../../client/index.ts';
import type { CommandContext } from '../command.ts';
import { formatStatus, formatTime } from '../format.ts';

/** `0 3 ? * MON-FRI * (Europe/Berlin)`, `every 5 minutes`. */
export const formatTiming = ({ cron, rate, timeZone }: ScheduleSummary): string =>
  cron === undefined ? `every ${rate}` : `${cron} (${timeZone ?? 'UTC'})`;

export const formatScheduleState = (
  context: Pick<CommandContext, 'colorize'>,
  { paused, nextRunAt }: ScheduleSummary,
): string => {
  if (paused) return formatStatus(context, 'waiting').replace('waiting', 'paused');
  return nextRunAt === undefined ? formatStatus(context, 'skipped').replace('skipped', 'over') : formatStatus(context, 'active');
};

/** What an answer to a change comes to. */
export const formatNextRun = (context: Pick<CommandContext, 'now'>, schedule: ScheduleSummary): string => {
  const { scheduleId, paused, nextRunAt } = schedule;
  if (paused) return `${scheduleId} is paused.`;
  return nextRunAt === undefined
    ? `${scheduleId} is over.`
    : `${scheduleId} runs next at ${formatTime(nextRunAt, context.now())}.`;
};
