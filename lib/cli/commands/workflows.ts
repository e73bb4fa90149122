/** `stepwell workflows …`. */
import type { Register } from '../command.ts';
import { addListOptions, addVersionOption } from './versions.ts';

export const register: Register = (program, createHandler) => {
  const workflows = program.command('workflows').description('publish and look at graph workflows');
  addListOptions(workflows.command('list').description('list workflows by name')).action(
    createHandler(async () => (await import('../versions/list.ts')).listWorkflows),
  );
  addVersionOption(workflows.command('get <name>').description('show a definition, as it can be published again')).action(
    createHandler(async () => (await import('../versions/show.ts')).showWorkflow),
  );
  workflows
    .command('publish <file>')
    .description('publish a definition: version 1 of a new workflow, or the next version')
    .action(createHandler(async () => (await import('../versions/publish.ts')).publishWorkflow));
  workflows
    .command('validate <file>')
    .description('judge a definition and publish nothing; 1 if it has errors, 2 if it has warnings only')
    .action(createHandler(async () => (await import('../workflows/validate-workflow.ts')).validateWorkflow));
  workflows
    .command('test <file>')
    .description('run a definition that nobody has published, and watch it; 1 if it does not complete')
    .option('--input <json>', 'what the run is given')
    .option('--input-file <file>', 'the same, from a file of JSON')
    .option('--pin <node=json...>', 'do not run this node: this is its output')
    .option('--pinned-file <file>', 'the same for many: { "<node>": { "output": …, "handle"?: … } }')
    .option('--keep', 'for a day; without it, every trace is deleted at the end')
    .action(createHandler(async () => (await import('../workflows/test-workflow.ts')).testWorkflow));
  workflows
    .command('archive <name>')
    .description('refuse new runs until the next version is published; open runs continue')
    .action(createHandler(async () => (await import('../versions/archive.ts')).archiveWorkflow));
  workflows
    .command('delete <name>')
    .description('delete a workflow with all its versions and runs, for good, and wait until that is done')
    .option('--confirm <name>', 'the name once more, where there is nobody to type it')
    .option('--no-wait', 'end once it has begun')
    .action(createHandler(async () => (await import('../workflows/delete-workflow.ts')).deleteWorkflow));
};
