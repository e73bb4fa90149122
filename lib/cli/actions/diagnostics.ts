/** `stepwell audit` and `stepwell open`. */
import * as z from 'zod';
import type { Action } from '../command.ts';
import { createConsoleAddress } from '../console-link.ts';
import { formatStatus, formatTable } from '../format.ts';
import { listOptions, moreRowsHint, readRows } from '../pages.ts';
import { keyId, omitUndefined, parseOptions, timestamp } from '../parse-command-line.ts';

const auditOptions = z.object({
  ...listOptions,
  action: z.string().min(1).max(64).optional(),
  result: z.enum(['success', 'failure']).optional(),
  key: keyId.optional(),
  from: timestamp.optional(),
  to: timestamp.optional(),
});

export const audit: Action = async (commandLine, context) => {
  const options = parseOptions(commandLine, auditOptions);
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
  const text = rows.length === 0 ? 'No entry matches.' : [formatTable(context, headers, rows), ...moreRowsHint(found)].join('\n');
  return { data: found, text };
};

const openOptions = z.object({ browser: z.boolean().default(true) });

export const open: Action = async (commandLine, context) => {
  const { browser } = parseOptions(commandLine, openOptions);
  const { url, source } = await context.connection();
  if (!browser) return { data: { url, source }, text: url };
  const page = await createConsoleAddress(await context.client(), url, context.signal);
  if (!context.isJson) context.openInBrowser?.(page);
  return { data: { url, source, console: page }, text: page };
};
