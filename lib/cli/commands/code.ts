/** Declares the commands for code workflows: `stepwell start`, `init`, `build`, `dev`, `deploy`, `activate`, `rollback`, `deployments …` and `worker start`. */
import type { Register } from '../command.ts';

export const registerProject: Register = (program, createHandler) => {
  program
    .command('start')
    .description('run the embedded cloud in this folder and print what runs do, until Ctrl-C; its state is in .stepwell')
    .option('--allow-localhost', 'let nodes, models and messages to apps of the Workflow DevKit reach this machine')
    .option('--port <n>', 'first port to try for the API; 0: any free one; default: 4700')
    .action(createHandler(async () => (await import('../project/start.ts')).start));
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
    .description(
      'start the embedded cloud if none runs, open the console, deploy this project on every change, and print what runs do, until Ctrl-C',
    )
    .option(
      '--allow-localhost',
      'let nodes, models and messages to apps of the Workflow DevKit reach this machine, in a cloud that this command starts',
    )
    .option('--port <n>', 'first port to try for the API of a cloud that this command starts; 0: any free one')
    .option('--no-start', 'fail if no embedded cloud runs')
    .option('--no-browser', 'print the link of the console only')
    .option('--yes', 'with --url or --profile: remove workflows without asking, also if open runs or schedules use them')
    .action(createHandler(async () => (await import('../project/build.ts')).dev));
};

export const registerClock: Register = (program, createHandler) => {
  const clock = program.command('clock').description('move the clock of the embedded cloud');
  clock
    .command('advance <duration>')
    .description("move the clock forward, such as '8 days': what is due then happens now; the state folder keeps the new time")
    .action(createHandler(async () => (await import('../project/clock.ts')).advanceClock));
};

const deployHelp = `
Without a folder, the command deploys the code workflows of the current project (stepwell.config.ts here or in a parent folder).
In an app of the Workflow DevKit it deploys what 'npx workflow build' wrote to .well-known/workflow/v1.
A folder must contain .well-known/workflow/v1/flow.js, step.js, the files that they import, and manifest.json:
{ "workflows": [{ "name": "…" }], "steps": [{ "name": "…" }] } and an optional "deploymentId".
Runs in flight stay on their deployment.`;

export const registerDeployments: Register = (program, createHandler) => {
  program
    .command('deploy [folder]')
    .description('build this project or pack a folder of bundles, upload and activate it, and print what changed')
    .option('--artifact <file>', 'deploy this packed archive instead of a folder; requires --manifest')
    .option('--manifest <file>', 'the manifest of the archive')
    .option('--deployment-id <id>', 'deployment id; default: the id in the folder’s manifest.json, else a digest of the content')
    .option(
      '--app <name>',
      'the project that the deployment belongs to; default: the configuration’s app, else the package’s name',
    )
    .option('--yes', 'remove workflows without asking, also if open runs or schedules use them')
    .option('--no-activate', 'upload and verify only; runs can start on it by its id')
    .addHelpText('after', deployHelp)
    .action(createHandler(async () => (await import('../actions/deploy.ts')).deploy));
  program
    .command('activate <deploymentId>')
    .description('start new runs of its app on this deployment')
    .option('--yes', 'remove workflows without asking, also if open runs or schedules use them')
    .action(createHandler(async () => (await import('../actions/deployments.ts')).activate));
  program
    .command('deactivate <deploymentId>')
    .description('leave the app of this deployment without an active one; open runs continue')
    .option('--yes', 'do not ask, also if open runs or schedules use its workflows')
    .action(createHandler(async () => (await import('../actions/deployments.ts')).deactivate));
  program
    .command('rollback')
    .description('start new runs of an app on its previously active deployment')
    .option('--app <name>', 'the app; default: the only one with an active deployment')
    .option('--yes', 'remove workflows without asking, also if open runs or schedules use them')
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
    .option('--app <name>', 'the app whose active deployment is shown; default: the only one')
    .action(createHandler(async () => (await import('../actions/deployments.ts')).showDeployment));
  deployments
    .command('health <deploymentId>')
    .description('send a health check to the code of a Workflow DevKit app, and wait for its answer')
    .action(createHandler(async () => (await import('../actions/deployments.ts')).checkHealth));
  deployments
    .command('apps')
    .description('list the apps with an active deployment')
    .action(createHandler(async () => (await import('../actions/deployments.ts')).listApps));
  deployments
    .command('remove <deploymentId>')
    .description('remove a deployment that no open run uses; its id cannot be used again')
    .action(createHandler(async () => (await import('../actions/deployments.ts')).removeDeployment));
};

export const defaultConcurrency = 10;
/** Long enough for three heartbeats, short enough that the run of a crashed worker continues soon. */
const defaultVisibilityTimeoutSeconds = 30;
/** Container runtimes send SIGKILL 30 s after SIGTERM by default. */
const defaultDrainSeconds = 25;

export const registerWorker: Register = (program, createHandler) => {
  const worker = program.command('worker').description('execute code workflows in your own process');
  worker
    .command('start')
    .description('process workflow tasks from the queue, beside the Lambda function or instead of it, until Ctrl-C')
    .option('--settings <file>', 'JSON file with the environment variables of the code function: its tables and queues')
    .option('--concurrency <n>', `concurrent messages; default: worker.concurrency of the project, or ${defaultConcurrency}`)
    .option(
      '--visibility-timeout-seconds <n>',
      'SQS redelivers a message this long after its worker crashed',
      String(defaultVisibilityTimeoutSeconds),
    )
    .option('--drain-seconds <n>', 'after Ctrl-C, wait this long for running workflow tasks', String(defaultDrainSeconds))
    .addHelpText(
      'after',
      `
The first configured source wins: --settings; the settings of --profile; the environment (STEPWELL_RUNS_TABLE and the other
variables); the settings of STEPWELL_PROFILE, of the project's profile, of the current profile; the embedded cloud of this folder.
AWS credentials come from the default credential chain. Log lines go to stderr; with --json each is one JSON object. After SIGTERM
or Ctrl-C the worker receives no more messages, and workflow tasks stop after their next command batch. Messages that are not done
in time go to other workers. A second signal exits at once.`,
    )
    .action(createHandler(async () => (await import('../actions/worker.ts')).startWorker));
};
