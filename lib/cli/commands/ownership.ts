/** Commands that prove where runs are carried out. */
import type { Register } from '../command.ts';

export const register: Register = (program, createHandler) => {
  program
    .command('validate-ownership')
    .description('prove that runs reach the service, and not the application; 1 if they may not, 2 for warnings only')
    .option('--app-url <url>', 'where the application is')
    .option('--strict', 'fail where the application is not what it must be, and not only warn')
    .option('--diagnostics-token <token>', 'for its diagnostics; else WORKFLOW_STUDIO_DIAGNOSTICS_TOKEN')
    .option('--config <file>', 'stepwell.config.json or stepwell.config.ts: the address, the key, the world that is expected')
    .action(createHandler(async () => (await import('../ownership/validate-ownership.ts')).validateOwnership));

  program
    .command('check-config')
    .description('judge stepwell.config.json or stepwell.config.ts; 1 if it is invalid, 2 for warnings only')
    .option('--config <file>', 'another file')
    .action(createHandler(async () => (await import('../ownership/check-config.ts')).checkConfig));
};
