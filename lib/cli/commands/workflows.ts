/** `stepwell workflows …`. */
import type { Register } from '../command.ts';

export const register: Register = (program, act) => {
  const workflows = program.command('workflows').description('publish and look at graph workflows');
  workflows
    .command('list')
    .description('list workflows by name')
    .option('--archived', 'the archived ones')
    .option('--limit <n>', 'this many at most', '25')
    .option('--all', 'all of them')
    .action(act(async () => (await import('../workflows/list-workflows.ts')).listWorkflows));
  workflows
    .command('get <name>')
    .description('show a definition')
    .option('--version-number <n>', 'not the latest version, but this')
    .action(act(async () => (await import('../workflows/show-workflow.ts')).showWorkflow));
  workflows
    .command('publish <file>')
    .description('publish a definition: version 1 of a new workflow, or the next version')
    .action(act(async () => (await import('../workflows/publish-workflow.ts')).publishWorkflow));
  workflows
    .command('validate <file>')
    .description('judge a definition and publish nothing; 1 if it has errors, 2 if it has warnings only')
    .action(act(async () => (await import('../workflows/validate-workflow.ts')).validateWorkflow));
  workflows
    .command('test <file>')
    .description('run a definition that nobody has published, and watch it; 1 if it does not complete')
    .option('--input <json>', 'what the run is given')
    .option('--input-file <file>', 'the same, from a file of JSON')
    .option('--pinned-file <file>', 'outputs of nodes that are not to be run, by their ids')
    .option('--stop', 'delete every trace of it afterwards')
    .action(act(async () => (await import('../workflows/test-workflow.ts')).testWorkflow));
  workflows
    .command('archive <name>')
    .description('refuse new runs and versions; runs in flight go on')
    .action(act(async () => (await import('../workflows/archive-workflow.ts')).archiveWorkflow));
};
