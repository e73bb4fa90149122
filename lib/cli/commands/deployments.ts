/** `stepwell deploy`, `activate`, `rollback` and `deployments …`. */
import type { Register } from '../command.ts';

export const registerDeployments: Register = (program, createHandler) => {
  program
    .command('deploy [folder]')
    .description('build this project or pack a folder of bundles, upload and activate it, and print what changed')
    .option('--artifact <file>', 'deploy this packed archive instead of a folder; requires --manifest')
    .option('--manifest <file>', 'the manifest of the archive')
    .option('--deployment-id <id>', 'deployment id; default: the id in the folder’s manifest.json, else a digest of the content')
    .option('--no-activate', 'upload and verify only; runs can start on it by its id')
    .addHelpText(
      'after',
      `
Without a folder, the command deploys the code workflows of the current project (stepwell.config.ts here or in a parent folder).
A folder must contain .well-known/workflow/v1/flow.js, step.js, the files that they import, and manifest.json:
{ "workflows": [{ "name": "…" }], "steps": [{ "name": "…" }] } and an optional "deploymentId".
Runs in flight stay on their deployment.`,
    )
    .action(createHandler(async () => (await import('../actions/deploy.ts')).deploy));
  program
    .command('activate <deploymentId>')
    .description('start new runs on this deployment')
    .action(createHandler(async () => (await import('../actions/deployments.ts')).activate));
  program
    .command('rollback')
    .description('start new runs on the previously active deployment')
    .option('--deployment-id <id>', 'activate this deployment instead')
    .action(createHandler(async () => (await import('../actions/deployments.ts')).rollback));

  const deployments = program.command('deployments').description('list, show and remove deployments');
  deployments
    .command('list')
    .description('list deployments, newest first')
    .option('--limit <n>', 'maximum number of rows', '25')
    .option('--all', 'list all rows')
    .action(createHandler(async () => (await import('../actions/deployments.ts')).listDeployments));
  deployments
    .command('get [deploymentId]')
    .description('show a deployment and its manifest; default: the active deployment')
    .action(createHandler(async () => (await import('../actions/deployments.ts')).showDeployment));
  deployments
    .command('remove <deploymentId>')
    .description('remove a deployment that no open run uses; its id cannot be used again')
    .action(createHandler(async () => (await import('../actions/deployments.ts')).removeDeployment));
};
