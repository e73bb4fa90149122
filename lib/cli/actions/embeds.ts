/** `stepwell embeds create`, `list` and `revoke`. */
import * as z from 'zod';
import { embedIdPattern } from '../../engine/ids.ts';
import { origin } from '../../api/schemas/cors-origins.ts';
import { type Action, usageError } from '../command.ts';
import { formatTable } from '../format.ts';
import { integerBetween, omitUndefined, parseArgument, parseOptions, runId, workflowName } from '../parse-command-line.ts';

const daySeconds = 86_400;

const createEmbedOptions = z.object({
  run: runId.optional(),
  workflow: workflowName.optional(),
  origin: z.array(origin),
  expiresInDays: integerBetween(1, 365).optional(),
});

export const createEmbed: Action = async (commandLine, context) => {
  const { run, workflow, origin: origins, expiresInDays } = parseOptions(commandLine, createEmbedOptions);
  if ((run === undefined) === (workflow === undefined)) throw usageError('Name one of --run and --workflow.');
  const { url } = await context.connection();
  const client = await context.client();
  const expiresInSeconds = expiresInDays === undefined ? undefined : expiresInDays * daySeconds;
  const created = await client.createEmbed(
    { origins, ...omitUndefined({ runId: run, workflowName: workflow, expiresInSeconds }) },
    { signal: context.signal },
  );
  const address = `${url}/${created.path}`;
  context.log(`Embed ${created.embedId}, until ${created.expiresAt}. Its address is shown only once; use it in an iframe.`);
  // stdout contains only the address, so that it can be piped into a page.
  return { data: { ...created, address }, text: address };
};

export const listEmbeds: Action = async (_commandLine, context) => {
  const client = await context.client();
  const { data } = await client.listEmbeds({ signal: context.signal });
  const rows = data.map(({ embedId, runId: run, workflowName: workflow = '', origins, createdAt, expiresAt }) => [
    embedId,
    run ?? workflow,
    origins.join(', '),
    createdAt,
    expiresAt,
  ]);
  const headers = ['embed', 'shows', 'in pages of', 'created', 'expires'];
  return {
    data: { items: data, hasMore: false },
    text: rows.length === 0 ? 'No embed exists.' : formatTable(context, headers, rows),
  };
};

const embedId = z.string().regex(embedIdPattern, 'must be the id of an embed, such as emb_4eM0q1V9dXr2LZbC7tKf3A');

export const revokeEmbed: Action = async (commandLine, context) => {
  const id = parseArgument(commandLine, 0, 'embedId', embedId);
  const client = await context.client();
  const revoked = await client.revokeEmbed(id, { signal: context.signal });
  return { data: revoked, text: `${id} is revoked; its page shows nothing any more.` };
};
