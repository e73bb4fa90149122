/** `stepwell deploy`, `activate`, `rollback` and `deployments …`. */
import type { Register } from '../command.ts';

export const register: Register = (program, createHandler) => {
  program
    .command('deploy [folder]')
    .description('build this project, or pack a folder of bundles; upload it, activate it, and say what changed')
    .option('--artifact <file>', 'instead of a folder: an archive that is packed already, with its --manifest')
    .option('--manifest <file>', 'of the archive')
    .option('--deployment-id <id>', 'its id; else that of the folder’s manifest.json, else it follows from the content')
    .option('--no-activate', 'upload and verify only: runs can be started on it by its id')
    .addHelpText(
      'after',
      `
Without a folder: the code workflows of the project that this folder belongs to, by its stepwell.config.ts. With one:
The folder holds .well-known/workflow/v1/flow.js, step.js and whatever they import, and manifest.json:
{ "workflows": [{ "name": "…" }], "steps": [{ "name": "…" }] }, and "deploymentId" if you wish. Runs in flight stay where they are.`,
    )
    .action(createHandler(async () => (await import('../deployments/deploy.ts')).deploy));
  program
    .command('activate <deploymentId>')
    .description('give new runs this deployment')
    .action(createHandler(async () => (await import('../deployments/activate.ts')).activate));
  program
    .command('rollback')
    .description('give new runs the deployment that was active before')
    .option('--deployment-id <id>', 'not that one, but this')
    .action(createHandler(async () => (await import('../deployments/activate.ts')).rollback));

  const deployments = program.command('deployments').description('look at deployments of code workflows');
  deployments
    .command('list')
    .description('list deployments, newest first')
    .option('--limit <n>', 'this many at most', '25')
    .option('--all', 'all of them')
    .action(createHandler(async () => (await import('../deployments/list-deployments.ts')).listDeployments));
  deployments
    .command('get [deploymentId]')
    .description('show a deployment and its manifest; without an id, the active one')
    .action(createHandler(async () => (await import('../deployments/show-deployment.ts')).showDeployment));
  deployments
    .command('remove <deploymentId>')
    .description('remove a deployment that no run needs; its id stays taken')
    .action(createHandler(async () => (await import('../deployments/remove-deployment.ts')).removeDeployment));
};
