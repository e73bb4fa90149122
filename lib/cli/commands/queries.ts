/** `stepwell queries …`. */
import type { Register } from '../command.ts';
import { addListOptions, addVersionOption } from './versions.ts';

export const register: Register = (program, createHandler) => {
  const queries = program.command('queries').description('publish and look at stored queries');
  addListOptions(queries.command('list').description('list queries by name')).action(
    createHandler(async () => (await import('../versions/list.ts')).listQueries),
  );
  addVersionOption(queries.command('get <name>').description('show a query, as it can be published again')).action(
    createHandler(async () => (await import('../versions/show.ts')).showQuery),
  );
  queries
    .command('publish <file>')
    .description('publish a query: version 1 of a new one, or the next version')
    .action(createHandler(async () => (await import('../versions/publish.ts')).publishQuery));
  queries
    .command('archive <name>')
    .description('fail the nodes that ask it, until the next version is published')
    .action(createHandler(async () => (await import('../versions/archive.ts')).archiveQuery));
};
