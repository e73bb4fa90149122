/** `stepwell worker start`. */
import type { Register } from '../command.ts';
import { defaultConcurrency, defaultDrainSeconds, defaultVisibilityTimeoutSeconds } from '../worker/defaults.ts';

export const register: Register = (program, createHandler) => {
  const worker = program.command('worker').description('run the code of deployments in a process of your own');
  worker
    .command('start')
    .description('take messages for code off the queue, beside the function or in its place, until Ctrl-C')
    .option('--settings <file>', 'where tables and queues are: what the function code has as environment variables, as JSON')
    .option('--concurrency <n>', `this many messages at once; else worker.concurrency of the project, else ${defaultConcurrency}`)
    .option(
      '--visibility-timeout-seconds <n>',
      'a message comes back so long after its worker has died',
      String(defaultVisibilityTimeoutSeconds),
    )
    .option('--drain-seconds <n>', 'after Ctrl-C, what is at work may take so long to rest', String(defaultDrainSeconds))
    .addHelpText(
      'after',
      `
The first of these that is given: --settings; the settings of --profile; the variables STEPWELL_RUNS_TABLE and so on in the
environment; the settings of STEPWELL_PROFILE, of the project's profile, of the profile in use; the embedded cloud of this folder.
AWS's own credentials are found as AWS's tools find them. What happens is told on stderr, with --json a JSON line each. After SIGTERM
or Ctrl-C no message is taken, drives rest at their next turn, and what is not at rest in time is free for other workers. A second
one ends it at once.`,
    )
    .action(createHandler(async () => (await import('../worker/start-worker.ts')).startWorker));
};
