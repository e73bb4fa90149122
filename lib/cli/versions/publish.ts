/** `workflows publish`, `lenses publish` and `queries publish`: version 1 of a new name, or the next one. */
import { ComputeClientError } from '../../client/errors.ts';
import { readBody } from '../body-file.ts';
import { type Action, usageFault } from '../command.ts';
import { argument, file } from '../given.ts';
import { type Kind, type Named, lenses, queries, workflows } from './kinds.ts';

const publishing =
  <Body extends object, Published extends Named>({
    noun,
    name: named,
    existsCode,
    calls,
    notes,
  }: Kind<Body, Published>): Action =>
  async (given, shell) => {
    const path = argument(given, 0, 'file', file);
    const body = readBody<Body & { readonly name?: unknown }>(shell.cwd, path);
    const read = named.safeParse(body.name);
    if (!read.success) throw usageFault(`${path}: "name" ${read.error.issues[0]?.message ?? 'is wrong'}.`);
    const name = read.data;
    const those = calls(await shell.client());
    const { signal } = shell;
    const published = await those.create({ ...body, name }, { signal }).catch((trouble: unknown) => {
      if (trouble instanceof ComputeClientError && trouble.code === existsCode) return those.publish(name, body, { signal });
      throw trouble;
    });
    for (const line of notes(published)) shell.note(line);
    if (published.unarchived === true) shell.note(`The ${noun} ${name} was archived; this version has opened it again.`);
    return { data: published, text: `${published.name}@${published.version}` };
  };

export const publishWorkflow = publishing(workflows);
export const publishLens = publishing(lenses);
export const publishQuery = publishing(queries);
