/** `stepwell init`, `build` and `dev`: a project of workflows written as code. */
import type { Register } from '../command.ts';

export const register: Register = (program, createHandler) => {
  program
    .command('init')
    .description('begin a project of code workflows in this folder; nothing that is there is changed')
    .action(createHandler(async () => (await import('../project/init.ts')).init));
  program
    .command('build')
    .description('make an archive of the workflows of this project, and its manifest; nothing is sent')
    .option('--out <folder>', 'where to; else .stepwell/build/<deploymentId> beside the configuration')
    .option('--deployment-id <id>', 'else it follows from the content')
    .action(createHandler(async () => (await import('../project/build.ts')).build));
  program
    .command('dev')
    .description('deploy this project to the embedded cloud at every change, until Ctrl-C')
    .action(createHandler(async () => (await import('../project/dev.ts')).dev));
};
