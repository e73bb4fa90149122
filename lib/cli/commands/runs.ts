/** `stepwell runs …`. */
import { type Command, Option } from 'commander';
import { runStatuses } from '../../engine/log/head.ts';
import type { Register } from '../command.ts';
import { addSignalOptions } from './signals.ts';

const addFilterOptions = (command: Command, statuses: readonly string[] = runStatuses): Command =>
  command
    .addOption(new Option('--status <status>', 'in this status').choices([...statuses]))
    .option('--workflow <name>', 'of this workflow')
    .option('--created-after <time>', 'created after then, such as 2026-01-31T12:00:00Z')
    .option('--created-before <time>', 'created before then');

const addBulkOptions = (command: Command): Command =>
  command
    .option('--yes', 'do not ask first')
    .option('--max-runs <n>', 'take this many runs at most', '10000')
    .option('--concurrency <n>', 'this many requests at a time, 1 to 16', '4');

export const register: Register = (program, createHandler) => {
  const runs = program.command('runs').description('start, watch and steer runs');

  runs
    .command('start <workflow>')
    .description('start a run')
    .option('--input <json>', 'what it is given')
    .option('--input-file <file>', 'what it is given, from a file of JSON')
    .option('--idempotency-key <key>', 'the same key is the same run; without one, a new one')
    .option('--content-key', 'equal workflow and input are the same run, for a day')
    .option('--run-id <id>', 'an id of your own')
    .option('--deployment <id>', 'of code workflows: not the active one, but this')
    .option('--available-at <time>', 'not before then')
    .option('--deadline-at <time>', 'it fails if it has not ended by then')
    .action(createHandler(async () => (await import('../runs/start-run.ts')).startRun));

  addFilterOptions(runs.command('list').description('list runs, newest first'))
    .addOption(new Option('--attention <what>', 'that wait, or that are tried again').choices(['waiting', 'retrying']))
    .option('--rerun-of <runId>', 'that run this one again')
    .option('--limit <n>', 'this many at most', '25')
    .option('--all', 'all of them')
    .action(createHandler(async () => (await import('../runs/list-runs.ts')).listRuns));

  runs
    .command('get <runId>')
    .description('show a run and its nodes')
    .option('--no-data', 'without input and outputs')
    .action(createHandler(async () => (await import('../runs/show-run.ts')).showRun));

  runs
    .command('events <runId>')
    .description('show what happened to a run, in order')
    .option('--after <eventId>', 'later ones only')
    .option('--limit <n>', 'this many at most', '200')
    .action(createHandler(async () => (await import('../runs/list-events.ts')).listEvents));

  runs
    .command('watch <runId>')
    .description('print events as they happen, until the run has ended; 1 if it did not complete')
    .option('--after <eventId>', 'later ones only')
    .action(createHandler(async () => (await import('../runs/watch-run.ts')).watchRun));

  runs
    .command('result <runId>')
    .description('wait until a run has ended and print its output; 1 if it did not complete')
    .option('--timeout <seconds>', 'give up after so long; the run goes on')
    .action(createHandler(async () => (await import('../runs/result.ts')).result));

  addBulkOptions(
    addFilterOptions(runs.command('cancel [runId]').description('cancel a run, or all open runs that match the filters'), [
      'pending',
      'running',
    ]),
  )
    .option('--reason <text>', 'kept with the run')
    .action(createHandler(async () => (await import('../runs/cancel-runs.ts')).cancelRuns));

  addBulkOptions(
    addFilterOptions(
      runs.command('rerun [runId]').description('run a run again, as a new one, or all runs that match the filters'),
    ),
  )
    .option('--input <json>', 'another input')
    .option('--input-file <file>', 'another input, from a file of JSON')
    .option('--workflow-version <n>', 'another version of the workflow')
    .option('--from <nodeId>', 'go on from this node: the results before it stand')
    .option('--deployment <id>', 'of code workflows: on this deployment')
    .option('--idempotency-key <key>', 'of one run: the same key is the same new run')
    .option('--bulk-id <id>', 'go on with a bulk that broke off: no run is run again twice')
    .action(createHandler(async () => (await import('../runs/rerun-runs.ts')).rerunRuns));

  runs
    .command('resume <runId>')
    .description('tell a run to go on, and why; its sleeping nodes wake')
    .option('--reason <text>', 'kept in its log')
    .option('--payload <json>', 'kept in its log')
    .action(createHandler(async () => (await import('../runs/resume-run.ts')).resume));

  runs
    .command('wake <runId>')
    .description('wake sleeping nodes before their time')
    .option('--node <id...>', 'only these')
    .action(createHandler(async () => (await import('../runs/resume-run.ts')).wake));

  addSignalOptions(runs.command('signal <runId> <name>').description('send a signal to a run that waits for it, or will')).action(
    createHandler(async () => (await import('../signals/send-signal.ts')).signalRun),
  );

  runs
    .command('tags <runId>')
    .description('show what is worth a glance in a run')
    .option('--after <eventId>', 'of later events only')
    .option('--limit <n>', 'about this many: those of one event stay together', '200')
    .action(createHandler(async () => (await import('../runs/list-tags.ts')).listTags));

  runs
    .command('export-test <runId>')
    .description('write the history of a run of code, and a test that replays it')
    .option('--into <folder>', 'into this folder', 'tests')
    .option('--name <name>', 'of the two files; the workflow’s and the end of the run’s id')
    .option('--import <module>', 'where the workflow is, from that folder; ../workflows/<workflow>.ts')
    .addOption(new Option('--runner <runner>', 'what runs the test').choices(['vitest', 'node']).default('vitest'))
    .action(createHandler(async () => (await import('../runs/export-test.ts')).exportTest));

  runs
    .command('view <runId>')
    .description("look up a widget's templates in a run as it is now")
    .option('--config <json>', 'any JSON, with templates such as {{ctx.order.total}} in it')
    .option('--config-file <file>', 'the same, from a file of JSON')
    .action(createHandler(async () => (await import('../runs/view-run.ts')).viewRun));

  runs
    .command('stop <runId>')
    .description('end a test run and delete every trace of it')
    .action(createHandler(async () => (await import('../runs/stop-run.ts')).stopRun));
};
