/** Declares `stepwell init`, `build` and `dev`: projects of code workflows. */
import type { Register } from '../command.ts';

export const registerProject: Register = (program, createHandler) => {
  program
    .command('init')
    .description('create a project of code workflows in this folder; existing files are not changed')
    .action(createHandler(async () => (await import('../project/init.ts')).init));
  program
    .command('build')
    .description('build the artifact and the manifest of this project; nothing is sent')
    .option('--out <folder>', 'output folder; default: .stepwell/build/<deploymentId> beside the configuration')
    .option('--deployment-id <id>', 'deployment id; default: a digest of the content')
    .action(createHandler(async () => (await import('../project/build.ts')).build));
  program
    .command('dev')
    .description('deploy this project to the embedded cloud on every change, until Ctrl-C')
    .action(createHandler(async () => (await import('../project/build.ts')).dev));
};
