/** `workflows list`, `lenses list` and `queries list`. */
import * as z from 'zod';
import type { Action } from '../command.ts';
import { optionsIn } from '../given.ts';
import { listOptions, listed, moreLine } from '../pages.ts';
import { table } from '../words.ts';
import { type Kind, lenses, queries, workflows } from './kinds.ts';

const shape = z.object({ ...listOptions, archived: z.boolean().default(false) });

const listing =
  <Body, Published>({ noun, calls }: Kind<Body, Published>): Action =>
  async (given, shell) => {
    const options = optionsIn(given, shape);
    const those = calls(await shell.client());
    const archived = options.archived ? 'true' : 'false';
    const found = await listed(options, (page) => those.list({ ...page, archived }, { signal: shell.signal }));
    const hasKinds = found.items.some(({ kind }) => kind !== undefined);
    const rows = found.items.map((each) => [
      each.name,
      ...(hasKinds ? [each.kind ?? ''] : []),
      String(each.latestVersion),
      each.createdAt,
      each.updatedAt,
      each.archivedAt ?? '',
    ]);
    const heads = [
      'name',
      ...(hasKinds ? ['kind'] : []),
      'latest',
      'created',
      'updated',
      ...(options.archived ? ['archived'] : []),
    ];
    const text = rows.length === 0 ? `There is no such ${noun}.` : [table(shell, heads, rows), ...moreLine(found)].join('\n');
    return { data: found, text };
  };

export const listWorkflows = listing(workflows);
export const listLenses = listing(lenses);
export const listQueries = listing(queries);
