import * as z from 'zod';
import type { Action } from '../command.ts';
import { parseOptions } from '../parse-command-line.ts';
import { listOptions, readRows, moreRowsHint } from '../pages.ts';
import { formatStatus, formatTable } from '../format.ts';

const shape = z.object(listOptions);

export const listDeployments: Action = async (commandLine, context) => {
  const options = parseOptions(commandLine, shape);
  const client = await context.client();
  const found = await readRows(options, (page) => client.listDeployments(page, { signal: context.signal }));
  const rows = found.items.map((each) => [
    each.deploymentId,
    formatStatus(context, each.status),
    each.createdAt,
    each.activatedAt ?? '',
    String(each.artifact.bytes),
    each.workflows.map(({ name }) => name).join(', '),
  ]);
  const headers = ['deployment', 'status', 'created', 'activated', 'bytes', 'workflows'];
  const text =
    rows.length === 0 ? 'There is no deployment.' : [formatTable(context, headers, rows), ...moreRowsHint(found)].join('\n');
  return { data: found, text };
};
