import * as z from 'zod';
import type { Action } from '../command.ts';
import { optionsIn } from '../given.ts';
import { listOptions, listed, moreLine } from '../pages.ts';
import { table } from '../words.ts';

const shape = z.object({ ...listOptions, archived: z.boolean().default(false) });

export const listWorkflows: Action = async (given, shell) => {
  const options = optionsIn(given, shape);
  const client = await shell.client();
  const archived = options.archived ? 'true' : 'false';
  const found = await listed(options, (page) => client.listWorkflows({ ...page, archived }, { signal: shell.signal }));
  const rows = found.items.map((each) => [
    each.name,
    String(each.latestVersion),
    each.createdAt,
    each.updatedAt,
    each.archivedAt ?? '',
  ]);
  const heads = ['name', 'latest', 'created', 'updated', ...(options.archived ? ['archived'] : [])];
  const text = rows.length === 0 ? 'There is no such workflow.' : [table(shell, heads, rows), ...moreLine(found)].join('\n');
  return { data: found, text };
};
