/** Declares `stepwell workflows …`, `stepwell lenses …` and `stepwell queries …`. */
import type { Command } from 'commander';
import type { Register } from '../command.ts';

export const registerDefinitions: Register = (program, createHandler) => {
  registerWorkflows(program, createHandler);
  registerLenses(program, createHandler);
  registerQueries(program, createHandler);
};

const registerWorkflows: Register = (program, createHandler) => {
  program
    .command('types')
    .description('print the TypeScript types of the published graphs, for client.runs.start')
    .option('--out <file>', 'write them to this file')
    .action(createHandler(async () => (await import('../actions/types.ts')).writeTypes));
  const workflows = program.command('workflows').description('publish, list, test and delete graph workflows');
  addListOptions(workflows.command('list').description('list workflows by name')).action(
    createHandler(async () => (await import('../actions/definitions.ts')).listWorkflows),
  );
  addVersionOption(workflows.command('get <name>').description('print a definition in the form that publish accepts')).action(
    createHandler(async () => (await import('../actions/definitions.ts')).showWorkflow),
  );
  workflows
    .command('versions <name>')
    .description('list the versions of a workflow, newest first, with their authors and notes')
    .option('--limit <n>', 'maximum number of rows', '25')
    .option('--all', 'list all rows')
    .action(createHandler(async () => (await import('../actions/workflows.ts')).listVersions));
  workflows
    .command('publish <file>')
    .description('publish a definition: version 1 of a new workflow, or the next version')
    .option('--note <text>', 'what the version changes, up to 500 characters')
    .option('--based-on <n>', 'refuse to publish if another version is the newest one')
    .action(createHandler(async () => (await import('../actions/definitions.ts')).publishWorkflow));
  workflows
    .command('validate <file>')
    .description('validate a definition without publishing it; exit code 1 for errors, 2 for warnings only')
    .action(createHandler(async () => (await import('../actions/workflows.ts')).validateWorkflow));
  workflows
    .command('test <file>')
    .description('run an unpublished definition and watch it; exit code 1 unless it completes')
    .option('--input <json>', 'the input of the run')
    .option('--input-file <file>', 'the same, from a JSON file')
    .option('--pin <node=json...>', 'do not run this node; use this output')
    .option('--pinned-file <file>', 'pins of several nodes: { "<node>": { "output": …, "handle"?: … } }')
    .option('--keep', 'keep the test run for a day; default: delete its data when it ends')
    .action(createHandler(async () => (await import('../actions/workflows.ts')).testWorkflow));
  workflows
    .command('archive <name>')
    .description('archive a workflow: it accepts no runs until its next version is published; open runs continue')
    .action(createHandler(async () => (await import('../actions/definitions.ts')).archiveWorkflow));
  workflows
    .command('delete <name>')
    .description('permanently delete a workflow with all versions and runs, and wait for the end of the deletion')
    .option('--confirm <name>', 'confirm with the name of the workflow, without a prompt')
    .option('--no-wait', 'do not wait for the end of the deletion')
    .action(createHandler(async () => (await import('../actions/workflows.ts')).deleteWorkflow));
};

const registerLenses: Register = (program, createHandler) => {
  const lenses = program.command('lenses').description('publish, list and show lenses: prompt templates with contracts');
  addListOptions(lenses.command('list').description('list lenses by name')).action(
    createHandler(async () => (await import('../actions/definitions.ts')).listLenses),
  );
  addVersionOption(lenses.command('get <name>').description('print a lens in the form that publish accepts')).action(
    createHandler(async () => (await import('../actions/definitions.ts')).showLens),
  );
  lenses
    .command('publish <file>')
    .description('publish a lens: version 1 of a new lens, or the next version')
    .action(createHandler(async () => (await import('../actions/definitions.ts')).publishLens));
  lenses
    .command('archive <name>')
    .description('hide the lens from lists until its next version is published; nodes continue to use it')
    .action(createHandler(async () => (await import('../actions/definitions.ts')).archiveLens));
};

const registerQueries: Register = (program, createHandler) => {
  const queries = program.command('queries').description('publish, list and show stored queries');
  addListOptions(queries.command('list').description('list queries by name')).action(
    createHandler(async () => (await import('../actions/definitions.ts')).listQueries),
  );
  addVersionOption(queries.command('get <name>').description('print a query in the form that publish accepts')).action(
    createHandler(async () => (await import('../actions/definitions.ts')).showQuery),
  );
  queries
    .command('publish <file>')
    .description('publish a query: version 1 of a new query, or the next version')
    .action(createHandler(async () => (await import('../actions/definitions.ts')).publishQuery));
  queries
    .command('archive <name>')
    .description('archive a query; nodes that use it fail until its next version is published')
    .action(createHandler(async () => (await import('../actions/definitions.ts')).archiveQuery));
};

const addListOptions = (command: Command): Command =>
  command
    .option('--archived', 'include archived ones')
    .option('--prefix <text>', 'only names that begin with this text')
    .option('--limit <n>', 'maximum number of rows', '25')
    .option('--all', 'list all rows');

const addVersionOption = (command: Command): Command =>
  command.option('--version-number <n>', 'show this version; default: the latest');
