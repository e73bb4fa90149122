/** `stepwell schedules …`. */
import { type Command, Option } from 'commander';
import { overlapPolicies } from '../../engine/schedule/overlap.ts';
import type { Register } from '../command.ts';

const addScheduleOptions = (command: Command): Command =>
  command
    .option('--cron <fields>', 'six fields: minutes, hours, day of month, month, day of week, year')
    .option('--rate <text>', 'such as "5 minutes", "1 hour" or "7 days"')
    .option('--time-zone <name>', 'of the fields of --cron, such as Europe/Berlin')
    .option('--input <json>', 'what each run is given')
    .option('--input-file <file>', 'the same, from a file of JSON')
    .addOption(new Option('--overlap <what>', 'while a run of it is open').choices([...overlapPolicies]))
    .option('--catch-up-seconds <n>', 'what comes later than this starts nothing');

export const register: Register = (program, createHandler) => {
  const schedules = program.command('schedules').description('start runs by the clock');
  addScheduleOptions(
    schedules
      .command('create <scheduleId>')
      .description('make a schedule')
      .requiredOption('--workflow <name>', 'what is run')
      .option('--workflow-version <n>', 'not the latest at each time, but this'),
  )
    .option('--start-at <time>', 'not before then')
    .option('--end-at <time>', 'not after then')
    .option('--paused', 'runs nothing until it is resumed')
    .action(createHandler(async () => (await import('../schedules/create-schedule.ts')).createSchedule));
  schedules
    .command('list')
    .description('list schedules by id')
    .option('--limit <n>', 'this many at most', '25')
    .option('--all', 'all of them')
    .action(createHandler(async () => (await import('../schedules/list-schedules.ts')).listSchedules));
  schedules
    .command('get <scheduleId>')
    .description('show a schedule and what became of its last times')
    .action(createHandler(async () => (await import('../schedules/show-schedule.ts')).showSchedule));
  addScheduleOptions(
    schedules
      .command('update <scheduleId>')
      .description('change what is given; the rest stays')
      .option('--workflow <name>', 'what is run')
      .option('--workflow-version <n>', 'this version, or "latest"'),
  )
    .option('--start-at <time>', 'not before then, or "none"')
    .option('--end-at <time>', 'not after then, or "none"')
    .action(createHandler(async () => (await import('../schedules/update-schedule.ts')).updateSchedule));
  schedules
    .command('pause <scheduleId>')
    .description('start nothing until it is resumed')
    .action(createHandler(async () => (await import('../schedules/pause-schedule.ts')).pauseSchedule));
  schedules
    .command('resume <scheduleId>')
    .description('go on with the next time that is due')
    .action(createHandler(async () => (await import('../schedules/pause-schedule.ts')).resumeSchedule));
  schedules
    .command('delete <scheduleId>')
    .description('end a schedule; runs that it started go on')
    .action(createHandler(async () => (await import('../schedules/pause-schedule.ts')).deleteSchedule));
};
