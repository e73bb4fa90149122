/** Commands for whoever looks after an installation. */
import { Option } from 'commander';
import type { Register } from '../command.ts';

export const register: Register = (program, createHandler) => {
  program
    .command('explain <runId>')
    .description('say why a run waits, for whom and until when, or why it ended')
    .action(createHandler(async () => (await import('../diagnostics/explain-run.ts')).explainRun));

  program
    .command('redrive')
    .description('run runs again that failed because a message was lost')
    .option('--workflow <name>', 'of this workflow')
    .option('--created-after <time>', 'created after then, such as 2026-01-31T12:00:00Z')
    .option('--created-before <time>', 'created before then')
    .option('--yes', 'do not ask first')
    .option('--max-runs <n>', 'take this many runs at most', '10000')
    .option('--concurrency <n>', 'this many requests at a time, 1 to 16', '4')
    .option('--bulk-id <id>', 'go on with a bulk that broke off: no run is run again twice')
    .addHelpText(
      'after',
      `
A message that workers gave up on, again and again, goes to a dead-letter queue. There it is not left to lie: it is taken out,
and its node fails with the code recovery_error, on the record. So nothing is to be moved back from a queue. redrive finds the
runs that failed for that reason and runs them again, each as a new run.`,
    )
    .action(createHandler(async () => (await import('../diagnostics/redrive.ts')).redrive));

  program
    .command('audit')
    .description('show who did what, newest first; needs the scope admin')
    .option('--action <name>', 'such as runs.cancel, or auth.failure')
    .addOption(new Option('--result <result>', 'how it ended').choices(['success', 'failure']))
    .option('--key <keyId>', 'by this key')
    .option('--from <time>', 'at or after then')
    .option('--to <time>', 'before then')
    .option('--limit <n>', 'this many at most', '25')
    .option('--all', 'all of them')
    .action(createHandler(async () => (await import('../diagnostics/audit.ts')).audit));

  program
    .command('doctor')
    .description('look for what is wrong with this machine and the installation; 1 if something is, 2 for warnings only')
    .option(
      '--aws',
      'look at the AWS account instead, before a deployment or after it: its quotas against the settings in cdk.json',
    )
    .option('--region <region>', 'with --aws: that of the installation, where it is not the one of the AWS configuration')
    .addOption(new Option('--preset <preset>', 'with --aws: as if the settings had this preset').choices(['small']))
    .action(createHandler(async () => (await import('../diagnostics/doctor.ts')).doctor));

  program
    .command('open')
    .description('print where the API is, and open its description in a browser')
    .option('--no-browser', 'print only')
    .action(createHandler(async () => (await import('../diagnostics/open.ts')).open));
};
