/** Schedules in a person's words. */
import type { ScheduleSummary } from '../../client/index.ts';
import type { Shell } from '../command.ts';
import { status, when } from '../words.ts';

/** `0 3 ? * MON-FRI * (Europe/Berlin)`, `every 5 minutes`. */
export const timingOf = ({ cron, rate, timeZone }: ScheduleSummary): string =>
  cron === undefined ? `every ${rate}` : `${cron} (${timeZone ?? 'UTC'})`;

export const stateOf = (shell: Pick<Shell, 'paint'>, { paused, nextRunAt }: ScheduleSummary): string => {
  if (paused) return status(shell, 'waiting').replace('waiting', 'paused');
  return nextRunAt === undefined ? status(shell, 'skipped').replace('skipped', 'over') : status(shell, 'active');
};

/** What an answer to a change comes to. */
export const nextLine = (shell: Pick<Shell, 'now'>, schedule: ScheduleSummary): string => {
  const { scheduleId, paused, nextRunAt } = schedule;
  if (paused) return `${scheduleId} is paused.`;
  return nextRunAt === undefined ? `${scheduleId} is over.` : `${scheduleId} runs next at ${when(nextRunAt, shell.now())}.`;
};
