/** Declares `stepwell catalogue` and `stepwell installation`. */
import type { Register } from '../command.ts';

export const registerInstallation: Register = (program, createHandler) => {
  program
    .command('catalogue')
    .description('list the names of the secrets, models and databases that workflows of the project can use')
    .action(createHandler(async () => (await import('../actions/installation.ts')).showCatalogue));
  program
    .command('installation')
    .description('show the version of the installation and its settings as they were deployed, without secrets')
    .action(createHandler(async () => (await import('../actions/installation.ts')).showInstallation));
};
