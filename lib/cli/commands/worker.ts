/** Declares `stepwell worker start`. */
import type { Register } from '../command.ts';

export const registerWorker: Register = (program, createHandler) => {
  const worker = program.command('worker').description('execute code workflows in your own process');
  worker
    .command('start')
    .description('process workflow tasks from the queue, beside the Lambda function or instead of it, until Ctrl-C')
    .option('--settings <file>', 'JSON file with the environment variables of the code function: its tables and queues')
    .option('--concurrency <n>', `concurrent messages; default: worker.concurrency of the project, or ${defaultConcurrency}`)
    .option(
      '--visibility-timeout-seconds <n>',
      'SQS redelivers a message this long after its worker crashed',
      String(defaultVisibilityTimeoutSeconds),
    )
    .option('--drain-seconds <n>', 'after Ctrl-C, wait this long for running workflow tasks', String(defaultDrainSeconds))
    .addHelpText(
      'after',
      `
The first configured source wins: --settings; the settings of --profile; the environment (STEPWELL_RUNS_TABLE and the other
variables); the settings of STEPWELL_PROFILE, of the project's profile, of the current profile; the embedded cloud of this folder.
AWS credentials come from the default credential chain. Log lines go to stderr; with --json each is one JSON object. After SIGTERM
or Ctrl-C the worker receives no more messages, and workflow tasks stop after their next command batch. Messages that are not done
in time go to other workers. A second signal exits at once.`,
    )
    .action(createHandler(async () => (await import('../actions/worker.ts')).startWorker));
};

export const defaultConcurrency = 10;
/** Long enough for three heartbeats, short enough that the run of a crashed worker continues soon. */
const defaultVisibilityTimeoutSeconds = 30;
/** Container runtimes send SIGKILL 30 s after SIGTERM by default. */
const defaultDrainSeconds = 25;
