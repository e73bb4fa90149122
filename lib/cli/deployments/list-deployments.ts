import * as z from 'zod';
import type { Action } from '../command.ts';
import { optionsIn } from '../given.ts';
import { listOptions, listed, moreLine } from '../pages.ts';
import { status, table } from '../words.ts';

const shape = z.object(listOptions);

export const listDeployments: Action = async (given, shell) => {
  const options = optionsIn(given, shape);
  const client = await shell.client();
  const found = await listed(options, (page) => client.listDeployments(page, { signal: shell.signal }));
  const rows = found.items.map((each) => [
    each.deploymentId,
    status(shell, each.status),
    each.createdAt,
    each.activatedAt ?? '',
    String(each.artifact.bytes),
    each.workflows.map(({ name }) => name).join(', '),
  ]);
  const heads = ['deployment', 'status', 'created', 'activated', 'bytes', 'workflows'];
  const text = rows.length === 0 ? 'There is no deployment.' : [table(shell, heads, rows), ...moreLine(found)].join('\n');
  return { data: found, text };
};
