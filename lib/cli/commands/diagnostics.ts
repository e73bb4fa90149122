/** Declares `stepwell explain`, `logs`, `redrive`, `audit`, `doctor`, `open`, `validate-ownership` and `check-config`. */
import { Option } from 'commander';
import type { Register } from '../command.ts';
import { addLogsCommand } from './runs.ts';

export const registerDiagnostics: Register = (program, createHandler) => {
  program
    .command('explain <runId>')
    .description('explain why a run waits, for what and until when, or why it ended')
    .action(createHandler(async () => (await import('../actions/explain.ts')).explainRun));

  addLogsCommand(program, createHandler);

  program
    .command('redrive')
    .description('rerun runs that failed because a message reached a dead-letter queue')
    .option('--workflow <name>', 'only runs of this workflow')
    .option('--created-after <time>', 'only runs created after this time, such as 2026-01-31T12:00:00Z')
    .option('--created-before <time>', 'only runs created before this time')
    .option('--yes', 'do not ask for confirmation')
    .option('--max-runs <n>', 'process at most this many runs', '10000')
    .option('--concurrency <n>', 'concurrent requests, 1 to 16', '4')
    .option('--bulk-id <id>', 'continue an interrupted bulk operation; no run is rerun twice')
    .addHelpText(
      'after',
      `
A message that workers repeatedly fail to process goes to a dead-letter queue. A function consumes that queue and fails the
message's node with the code recovery_error, so you never move messages back to a queue. redrive finds the runs that failed with
this code and reruns each of them as a new run.`,
    )
    .action(createHandler(async () => (await import('../actions/bulk-runs.ts')).redrive));

  program
    .command('audit')
    .description('list the audit trail, newest first; requires the scope admin')
    .option('--action <name>', 'only this action, such as runs.cancel or auth.failure')
    .addOption(new Option('--result <result>', 'only this result').choices(['success', 'failure']))
    .option('--key <keyId>', 'only requests of this key')
    .option('--from <time>', 'at or after this time')
    .option('--to <time>', 'before this time')
    .option('--limit <n>', 'maximum number of rows', '25')
    .option('--all', 'list all rows')
    .action(createHandler(async () => (await import('../actions/diagnostics.ts')).audit));

  program
    .command('doctor')
    .description('check this machine and the installation; exit code 1 for failures, 2 for warnings only')
    .option('--aws', 'check the AWS account instead: its quotas against the settings in cdk.json')
    .option('--region <region>', 'with --aws: the region of the installation; default: the region of the AWS configuration')
    .addOption(new Option('--preset <preset>', 'with --aws: check with this preset').choices(['small']))
    .action(createHandler(async () => (await import('../actions/doctor.ts')).doctor));

  program
    .command('mcp')
    .description('serve the Model Context Protocol on stdin and stdout, for agents; the scopes of the key apply')
    .option('--allow-writes', 'offer tools that test, start, rerun and cancel too; default: tools that read')
    .action(createHandler(async () => (await import('../mcp/server.ts')).serveMcp));

  program
    .command('open')
    .description('sign a browser in to the console: print a link that works once, within a minute, and open it')
    .option('--no-browser', 'print the address of the API only')
    .action(createHandler(async () => (await import('../actions/diagnostics.ts')).open));
};

export const registerOwnership: Register = (program, createHandler) => {
  program
    .command('validate-ownership')
    .description('check that the service executes the runs, not the application; exit code 1 for failures, 2 for warnings only')
    .option('--app-url <url>', 'the address of the application')
    .option('--strict', 'report problems of the application as failures, and call the deployed code through the queue')
    .option('--diagnostics-token <token>', 'token for the application’s diagnostics; default: WORKFLOW_STUDIO_DIAGNOSTICS_TOKEN')
    .option('--config <file>', 'stepwell.config.json or stepwell.config.ts with the address, the key and the expected world')
    .action(createHandler(async () => (await import('../actions/ownership.ts')).validateOwnership));

  program
    .command('check-config')
    .description('validate stepwell.config.json or stepwell.config.ts; exit code 1 if invalid, 2 for warnings only')
    .option('--config <file>', 'validate this file instead')
    .action(createHandler(async () => (await import('../actions/ownership.ts')).checkConfig));
};
