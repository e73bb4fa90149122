/** `stepwell lenses …`. */
import type { Register } from '../command.ts';
import { addListOptions, addVersionOption } from './versions.ts';

export const register: Register = (program, createHandler) => {
  const lenses = program.command('lenses').description('publish and look at lenses: prompt templates with contracts');
  addListOptions(lenses.command('list').description('list lenses by name')).action(
    createHandler(async () => (await import('../versions/list.ts')).listLenses),
  );
  addVersionOption(lenses.command('get <name>').description('show a lens, as it can be published again')).action(
    createHandler(async () => (await import('../versions/show.ts')).showLens),
  );
  lenses
    .command('publish <file>')
    .description('publish a lens: version 1 of a new one, or the next version')
    .action(createHandler(async () => (await import('../versions/publish.ts')).publishLens));
  lenses
    .command('archive <name>')
    .description('leave it out of lists until the next version is published; nodes continue to use it')
    .action(createHandler(async () => (await import('../versions/archive.ts')).archiveLens));
};
