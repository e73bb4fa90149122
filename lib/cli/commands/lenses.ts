/** `stepwell lenses …`. */
import type { Register } from '../command.ts';
import { listed, versioned } from './versions.ts';

export const register: Register = (program, act) => {
  const lenses = program.command('lenses').description('publish and look at lenses: prompt templates with contracts');
  listed(lenses.command('list').description('list lenses by name')).action(
    act(async () => (await import('../versions/list.ts')).listLenses),
  );
  versioned(lenses.command('get <name>').description('show a lens, as it can be published again')).action(
    act(async () => (await import('../versions/show.ts')).showLens),
  );
  lenses
    .command('publish <file>')
    .description('publish a lens: version 1 of a new one, or the next version')
    .action(act(async () => (await import('../versions/publish.ts')).publishLens));
  lenses
    .command('archive <name>')
    .description('leave it out of lists until the next version is published; nodes continue to use it')
    .action(act(async () => (await import('../versions/archive.ts')).archiveLens));
};
