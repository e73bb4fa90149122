/** Declares `stepwell schedules …`. */
import { type Command, Option } from 'commander';
import type { Register } from '../command.ts';
import { overlapPolicies } from '../../engine/schedule/timing.ts';

const addScheduleOptions = (command: Command): Command =>
  command
    .option(
      '--cron <fields>',
      'cron expression with six fields (minutes, hours, day of month, month, day of week, year) or with five as in Unix cron',
    )
    .option('--rate <text>', 'interval, such as "5 minutes", "1 hour" or "7 days"')
    .option('--time-zone <name>', 'time zone of --cron, such as Europe/Berlin')
    .option('--input <json>', 'the input of each run')
    .option('--input-file <file>', 'the same, from a JSON file')
    .addOption(
      new Option('--overlap <policy>', 'what to do if a run of the schedule is still open').choices([...overlapPolicies]),
    )
    .option('--catch-up-seconds <n>', 'skip a scheduled time that is later than this');

export const registerSchedules: Register = (program, createHandler) => {
  const schedules = program.command('schedules').description('start runs on a schedule');
  addScheduleOptions(
    schedules
      .command('create <scheduleId>')
      .description('create a schedule')
      .requiredOption('--workflow <name>', 'the workflow to run')
      .option('--workflow-version <n>', 'this version; default: the latest version at each scheduled time'),
  )
    .option('--start-at <time>', 'start no runs before this time')
    .option('--end-at <time>', 'start no runs after this time')
    .option('--paused', 'create the schedule paused')
    .action(createHandler(async () => (await import('../actions/schedules.ts')).createSchedule));
  schedules
    .command('list')
    .description('list schedules by id')
    .option('--limit <n>', 'maximum number of rows', '25')
    .option('--all', 'list all rows')
    .action(createHandler(async () => (await import('../actions/schedules.ts')).listSchedules));
  schedules
    .command('get <scheduleId>')
    .description('show a schedule and the outcome of its recent times')
    .action(createHandler(async () => (await import('../actions/schedules.ts')).showSchedule));
  addScheduleOptions(
    schedules
      .command('update <scheduleId>')
      .description('change the given fields of a schedule')
      .option('--workflow <name>', 'the workflow to run')
      .option('--workflow-version <n>', 'this version, or "latest"'),
  )
    .option('--start-at <time>', 'start no runs before this time, or "none"')
    .option('--end-at <time>', 'start no runs after this time, or "none"')
    .action(createHandler(async () => (await import('../actions/schedules.ts')).updateSchedule));
  schedules
    .command('pause <scheduleId>')
    .description('pause a schedule: it starts no runs until it is resumed')
    .action(createHandler(async () => (await import('../actions/schedules.ts')).pauseSchedule));
  schedules
    .command('resume <scheduleId>')
    .description('resume a schedule at its next due time')
    .action(createHandler(async () => (await import('../actions/schedules.ts')).resumeSchedule));
  schedules
    .command('delete <scheduleId>')
    .description('delete a schedule; runs that it started continue')
    .action(createHandler(async () => (await import('../actions/schedules.ts')).deleteSchedule));
};
