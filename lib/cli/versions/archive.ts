/** `workflows archive`, `lenses archive` and `queries archive`. */
import type { Action } from '../command.ts';
import { argument } from '../given.ts';
import { type Kind, lenses, queries, workflows } from './kinds.ts';

const archiving =
  <Body, Published>({ name: named, calls }: Kind<Body, Published>): Action =>
  async (given, shell) => {
    const name = argument(given, 0, 'name', named);
    const archived = await calls(await shell.client()).archive(name, { signal: shell.signal });
    return { data: archived, text: `${name} is archived since ${archived.archivedAt}.` };
  };

export const archiveWorkflow = archiving(workflows);
export const archiveLens = archiving(lenses);
export const archiveQuery = archiving(queries);
