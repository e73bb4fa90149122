/** `workflows archive`, `lenses archive` and `queries archive`. */
import type { Action } from '../command.ts';
import { parseArgument } from '../parse-command-line.ts';
import { type VersionedResource, lenses, queries, workflows } from './versioned-resource.ts';

const createArchiveAction =
  <Body, Published>({ name: nameSchema, callsOf }: VersionedResource<Body, Published>): Action =>
  async (commandLine, context) => {
    const name = parseArgument(commandLine, 0, 'name', nameSchema);
    const archived = await callsOf(await context.client()).archive(name, { signal: context.signal });
    return { data: archived, text: `${name} is archived since ${archived.archivedAt}.` };
  };

export const archiveWorkflow = createArchiveAction(workflows);
export const archiveLens = createArchiveAction(lenses);
export const archiveQuery = createArchiveAction(queries);
