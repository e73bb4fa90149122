/** Declares `stepwell validate-ownership` and `stepwell check-config`. */
import type { Register } from '../command.ts';

export const registerOwnership: Register = (program, createHandler) => {
  program
    .command('validate-ownership')
    .description('check that the service executes the runs, not the application; exit code 1 for failures, 2 for warnings only')
    .option('--app-url <url>', 'the address of the application')
    .option('--strict', 'report problems of the application as failures instead of warnings')
    .option('--diagnostics-token <token>', 'token for the application’s diagnostics; default: WORKFLOW_STUDIO_DIAGNOSTICS_TOKEN')
    .option('--config <file>', 'stepwell.config.json or stepwell.config.ts with the address, the key and the expected world')
    .action(createHandler(async () => (await import('../actions/ownership.ts')).validateOwnership));

  program
    .command('check-config')
    .description('validate stepwell.config.json or stepwell.config.ts; exit code 1 if invalid, 2 for warnings only')
    .option('--config <file>', 'validate this file instead')
    .action(createHandler(async () => (await import('../actions/ownership.ts')).checkConfig));
};
