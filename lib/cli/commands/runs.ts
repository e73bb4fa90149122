/** Declares `stepwell runs …`, `stepwell signals …` and `stepwell hooks …`. */
import { type Command, Option } from 'commander';
import type { Register } from '../command.ts';
import { runStatuses } from '../../engine/log/head.ts';

const addFilterOptions = (command: Command, statuses: readonly string[] = runStatuses): Command =>
  command
    .addOption(new Option('--status <status>', 'only runs with this status').choices([...statuses]))
    .option('--workflow <name>', 'only runs of this workflow')
    .option('--created-after <time>', 'only runs created after this time, such as 2026-01-31T12:00:00Z')
    .option('--created-before <time>', 'only runs created before this time');

const addBulkOptions = (command: Command): Command =>
  command
    .option('--yes', 'do not ask for confirmation')
    .option('--max-runs <n>', 'process at most this many runs', '10000')
    .option('--concurrency <n>', 'concurrent requests, 1 to 16', '4');

export const registerRuns: Register = (program, createHandler) => {
  const runs = program.command('runs').description('start, watch and control runs');
  addStartCommands(runs, createHandler);
  addReadCommands(runs, createHandler);
  addControlCommands(runs, createHandler);
  addInspectionCommands(runs, createHandler);
};

const addStartCommands: Register = (runs, createHandler) => {
  runs
    .command('start <workflow>')
    .description('start a run')
    .option('--input <json>', 'the input of the run')
    .option('--input-file <file>', 'the input of the run, from a JSON file')
    .option('--idempotency-key <key>', 'the same key starts the same run; default: a new run')
    .option('--content-key', 'the same workflow and input start the same run, for one day')
    .option('--run-id <id>', 'use this run id')
    .option('--deployment <id>', 'code workflows: use this deployment instead of the active one')
    .option('--workflow-version <n>', 'graphs: start this version instead of the latest one')
    .option('--available-at <time>', 'do not start before this time')
    .option('--deadline-at <time>', 'the run fails if it has not ended by this time')
    .option('--wait [seconds]', 'wait for the end in the same request, 1 to 25 seconds, default 25; print the output')
    .action(createHandler(async () => (await import('../actions/runs.ts')).startRun));

  runs
    .command('start-batch <file>')
    .description('start a run for each entry of a file: a JSON array, or JSON lines; - is stdin; a hundred in each request')
    .option('--workflow <name>', 'each entry is the input of a run of this workflow, instead of a whole start')
    .option('--bulk-id <id>', 'continue an interrupted batch of the same file; no run is started twice')
    .action(createHandler(async () => (await import('../actions/start-batch.ts')).startBatch));
};

const addReadCommands: Register = (runs, createHandler) => {
  addFilterOptions(runs.command('list').description('list runs, newest first'))
    .addOption(new Option('--attention <what>', 'only runs that wait, or that retry').choices(['waiting', 'retrying']))
    .option('--rerun-of <runId>', 'only reruns of this run')
    .option('--deployment <id>', 'only runs of this deployment')
    .option('--schedule <id>', 'only runs that this schedule started')
    .option('--correlation <id>', 'only runs whose start had this correlation id')
    .option('--called-by <runId>', 'only runs that this run called')
    .option('--workflow-version <version>', 'only runs of this version of their workflow')
    .option('--children', 'include runs that another run called')
    .option('--waits', 'show the signals for which open runs wait')
    .option('--limit <n>', 'maximum number of rows', '25')
    .option('--all', 'list all rows')
    .action(createHandler(async () => (await import('../actions/runs.ts')).listRuns));

  runs
    .command('get <runId>')
    .description('show a run and its nodes')
    .option('--no-data', 'omit input and outputs')
    .option('--estimate', 'add the size of the log and what the run cost, by list prices')
    .action(createHandler(async () => (await import('../actions/runs.ts')).showRun));

  runs
    .command('node <runId> <nodeId>')
    .description('show what a node saw and did: context, inputs, resolved config, output and attempts')
    .option('--iteration <key>', 'the loop iteration of the node, such as lines[3]')
    .option('--attempt <n>', 'only this attempt')
    .action(createHandler(async () => (await import('../actions/run-node.ts')).showRunNode));

  runs
    .command('events <runId>')
    .description('list the events of a run, in order')
    .option('--after <eventId>', 'only later events')
    .option('--limit <n>', 'maximum number of events', '200')
    .action(createHandler(async () => (await import('../actions/runs.ts')).listEvents));

  runs
    .command('watch <runId>')
    .description('print events until the run ends, with --json one on each line; exit code 1 unless it completed')
    .option('--after <eventId>', 'only later events')
    .action(createHandler(async () => (await import('../actions/runs.ts')).watchRun));

  addLogsCommand(runs, createHandler);

  runs
    .command('result <runId>')
    .description('wait until a run ends and print its output; exit code 1 unless it completed')
    .option('--timeout <seconds>', 'stop waiting after this time; the run continues')
    .action(createHandler(async () => (await import('../actions/runs.ts')).result));
};

/** `stepwell logs` is `stepwell runs logs`. */
export const addLogsCommand: Register = (parent, createHandler) => {
  parent
    .command('logs <runId>')
    .description('print what the scripts, the steps and the code of a run printed, with --json one line each')
    .option('--follow', 'continue until the run ends')
    .option(
      '--functions',
      'add what the functions logged for the run: lines in the embedded cloud, the query for CloudWatch otherwise',
    )
    .action(createHandler(async () => (await import('../actions/logs.ts')).printLogs));
};

/** Commands that change an open run, or repeat an ended one. */
const addControlCommands: Register = (runs, createHandler) => {
  addBulkOptions(
    addFilterOptions(runs.command('cancel [runId]').description('cancel a run, or all open runs that match the filters'), [
      'pending',
      'running',
    ]),
  )
    .option('--children', 'include runs that another run called; without it, they end with their caller')
    .option('--reason <text>', 'a reason, stored with the run')
    .action(createHandler(async () => (await import('../actions/bulk-runs.ts')).cancelRuns));

  addBulkOptions(
    addFilterOptions(runs.command('rerun [runId]').description('rerun a run as a new run, or all runs that match the filters')),
  )
    .option('--children', 'include runs that another run called; without it, their caller calls them again')
    .option('--input <json>', 'use this input instead')
    .option('--input-file <file>', 'use this input instead, from a JSON file')
    .option('--workflow-version <n>', 'use this version of the workflow')
    .option('--from <nodeOrStep>', 'continue from this node, or step of code; earlier results are kept')
    .option('--replace <node=json...>', 'graphs, with --from: use this value as the output of a kept or failed node')
    .option('--result <step=json...>', 'code workflows, with --from: use this value as the result of a kept step')
    .option('--deployment <id>', 'code workflows: use this deployment')
    .option('--idempotency-key <key>', 'for one run: the same key starts the same rerun')
    .option('--bulk-id <id>', 'continue an interrupted bulk operation; no run is rerun twice')
    .action(createHandler(async () => (await import('../actions/bulk-runs.ts')).rerunRuns));

  runs
    .command('resume <runId>')
    .description('resume a run and wake its sleeping nodes')
    .option('--reason <text>', 'a reason, stored in the log')
    .option('--payload <json>', 'data, stored in the log')
    .action(createHandler(async () => (await import('../actions/runs.ts')).resume));

  runs
    .command('wake <runId>')
    .description('wake sleeping nodes early, or retry failed nodes now')
    .option('--node <id...>', 'only these nodes')
    .option('--retries', 'retry the nodes that wait for their next attempt, and wake no sleeping node')
    .action(createHandler(async () => (await import('../actions/runs.ts')).wake));

  addSignalOptions(
    runs.command('signal <runId> <name>').description('send a signal to a run that waits for it now or later'),
  ).action(createHandler(async () => (await import('../actions/signals.ts')).signalRun));
};

/** Commands for authors: what a run found, its history as a test, its templates, and the end of a test run. */
const addInspectionCommands: Register = (runs, createHandler) => {
  runs
    .command('tags <runId>')
    .description('list the tags of a run: notable findings')
    .option('--after <eventId>', 'only tags of later events')
    .option('--limit <n>', 'approximate maximum; the tags of one event are not split', '200')
    .action(createHandler(async () => (await import('../actions/runs.ts')).listTags));

  runs
    .command('export-test <runId>')
    .description('write the history of a code run and a test that replays it')
    .option('--into <folder>', 'output folder', 'tests')
    .option('--name <name>', 'base name of the two files; default: the workflow name and the end of the run id')
    .option('--import <module>', 'module of the workflow, relative to that folder; default: ../workflows/<workflow>.ts')
    .addOption(
      new Option('--runner <runner>', 'the test runner; default: vitest if the package asks for it, else node').choices([
        'vitest',
        'node',
      ]),
    )
    .action(createHandler(async () => (await import('../actions/export-test.ts')).exportTest));

  runs
    .command('view <runId>')
    .description("resolve a widget's templates against the current state of a run")
    .option('--config <json>', 'JSON that contains templates such as {{ctx.order.total}}')
    .option('--config-file <file>', 'the same, from a JSON file')
    .action(createHandler(async () => (await import('../actions/runs.ts')).viewRun));

  runs
    .command('stop <runId>')
    .description('end a test run and delete all of its data')
    .action(createHandler(async () => (await import('../actions/runs.ts')).stopRun));
};

const addSignalOptions = (command: Command): Command =>
  command
    .option('--payload <json>', 'data for the waiting node')
    .option('--payload-file <file>', 'the same, from a JSON file')
    .option('--signal-id <id>', 'the same id identifies the same signal')
    .option('--expires-in-seconds <n>', 'how long to store the signal if no run waits for it yet')
    .option('--idempotency-key <key>', 'the same key sends the signal once');

export const registerSignals: Register = (program, createHandler) => {
  const signals = program.command('signals').description('send signals to waiting runs');
  addSignalOptions(
    signals
      .command('send <name>')
      .description('send a signal to the run that waits for it now or later')
      .requiredOption('--correlation <word>', 'correlation key: the wait with the same name and key receives the signal'),
  ).action(createHandler(async () => (await import('../actions/signals.ts')).sendSignal));
};

export const registerHooks: Register = (program, createHandler) => {
  program
    .command('hooks')
    .description('resume hooks of the Workflow DevKit')
    .command('resume <token>')
    .description('resume the hook that has the token, as resumeHook() does in the app')
    .option('--payload <json>', 'data for the workflow; default: null')
    .option('--payload-file <file>', 'the same, from a JSON file')
    .option('--idempotency-key <key>', 'the same key resumes the hook once')
    .action(createHandler(async () => (await import('../actions/hooks.ts')).resumeHook));
};
