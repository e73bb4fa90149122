/** `workflows list`, `lenses list` and `queries list`. */
import * as z from 'zod';
import type { Action } from '../command.ts';
import { parseOptions } from '../parse-command-line.ts';
import { listOptions, readRows, moreRowsHint } from '../pages.ts';
import { formatTable } from '../format.ts';
import { type VersionedResource, lenses, queries, workflows } from './versioned-resource.ts';

const shape = z.object({ ...listOptions, archived: z.boolean().default(false) });

const createListAction =
  <Body, Published>({ noun, callsOf }: VersionedResource<Body, Published>): Action =>
  async (commandLine, context) => {
    const options = parseOptions(commandLine, shape);
    const resourceCalls = callsOf(await context.client());
    const archived = options.archived ? 'true' : 'false';
    const found = await readRows(options, (page) => resourceCalls.list({ ...page, archived }, { signal: context.signal }));
    const hasKinds = found.items.some(({ kind }) => kind !== undefined);
    const rows = found.items.map((each) => [
      each.name,
      ...(hasKinds ? [each.kind ?? ''] : []),
      String(each.latestVersion),
      each.createdAt,
      each.updatedAt,
      each.archivedAt ?? '',
    ]);
    const headers = [
      'name',
      ...(hasKinds ? ['kind'] : []),
      'latest',
      'created',
      'updated',
      ...(options.archived ? ['archived'] : []),
    ];
    const text =
      rows.length === 0 ? `There is no such ${noun}.` : [formatTable(context, headers, rows), ...moreRowsHint(found)].join('\n');
    return { data: found, text };
  };

export const listWorkflows = createListAction(workflows);
export const listLenses = createListAction(lenses);
export const listQueries = createListAction(queries);
