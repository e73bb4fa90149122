import * as z from 'zod';
import type { Action } from '../command.ts';
import { keyId, timestamp, parseOptions, omitUndefined } from '../parse-command-line.ts';
import { listOptions, readRows, moreRowsHint } from '../pages.ts';
import { formatStatus, formatTable } from '../format.ts';

const shape = z.object({
  ...listOptions,
  action: z.string().min(1).max(64).optional(),
  result: z.enum(['success', 'failure']).optional(),
  key: keyId.optional(),
  from: timestamp.optional(),
  to: timestamp.optional(),
});

export const audit: Action = async (commandLine, context) => {
  const options = parseOptions(commandLine, shape);
  const { action, result, key, from, to } = options;
  const client = await context.client();
  const query = omitUndefined({ action, result, keyId: key, since: from, until: to });
  const found = await readRows(options, (page) => client.listAudit({ ...page, ...query }, { signal: context.signal }));
  const rows = found.items.map((entry) => [
    entry.at,
    entry.keyId ?? '–',
    entry.action,
    entry.resource,
    formatStatus(context, entry.result),
    entry.ip ?? '',
    typeof entry.metadata['correlationId'] === 'string' ? entry.metadata['correlationId'] : '',
  ]);
  const headers = ['at', 'key', 'action', 'resource', 'result', 'from', 'correlation'];
  const text =
    rows.length === 0 ? 'There is no such entry.' : [formatTable(context, headers, rows), ...moreRowsHint(found)].join('\n');
  return { data: found, text };
};
