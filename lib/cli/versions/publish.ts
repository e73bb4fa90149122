/** `workflows publish`, `lenses publish` and `queries publish`: version 1 of a new name, or the next one. */
import { ComputeClientError } from '../../client/errors.ts';
import { readBodyFile } from '../body-file.ts';
import { type Action, usageError } from '../command.ts';
import { parseArgument, file } from '../parse-command-line.ts';
import { type VersionedResource, type PublishedVersion, lenses, queries, workflows } from './versioned-resource.ts';

const createPublishAction =
  <Body extends object, Published extends PublishedVersion>({
    noun,
    name: nameSchema,
    existsCode,
    callsOf,
    notes,
  }: VersionedResource<Body, Published>): Action =>
  async (commandLine, context) => {
    const path = parseArgument(commandLine, 0, 'file', file);
    const body = readBodyFile<Body & { readonly name?: unknown }>(context.cwd, path);
    const parsed = nameSchema.safeParse(body.name);
    if (!parsed.success) throw usageError(`${path}: "name" ${parsed.error.issues[0]?.message ?? 'is wrong'}.`);
    const name = parsed.data;
    const resourceCalls = callsOf(await context.client());
    const { signal } = context;
    const published = await resourceCalls.create({ ...body, name }, { signal }).catch((error: unknown) => {
      if (error instanceof ComputeClientError && error.code === existsCode) return resourceCalls.publish(name, body, { signal });
      throw error;
    });
    for (const line of notes(published)) context.log(line);
    if (published.unarchived === true) context.log(`The ${noun} ${name} was archived; this version has opened it again.`);
    return { data: published, text: `${published.name}@${published.version}` };
  };

export const publishWorkflow = createPublishAction(workflows);
export const publishLens = createPublishAction(lenses);
export const publishQuery = createPublishAction(queries);
