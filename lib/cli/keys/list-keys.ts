import * as z from 'zod';
import type { Action } from '../command.ts';
import { parseOptions } from '../parse-command-line.ts';
import { listOptions, readRows, moreRowsHint } from '../pages.ts';
import { formatStatus, formatTable } from '../format.ts';

const shape = z.object(listOptions);

export const listKeys: Action = async (commandLine, context) => {
  const options = parseOptions(commandLine, shape);
  const client = await context.client();
  const found = await readRows(options, (page) => client.listKeys(page, { signal: context.signal }));
  const stateOf = ({ revokedAt, expiresAt }: (typeof found.items)[number]): string => {
    if (revokedAt !== undefined) return formatStatus(context, 'cancelled').replace('cancelled', 'revoked');
    const isExpired = expiresAt !== undefined && Date.parse(expiresAt) <= context.now();
    return isExpired ? formatStatus(context, 'cancelled').replace('cancelled', 'expired') : formatStatus(context, 'active');
  };
  const rows = found.items.map((key) => [
    key.keyId,
    stateOf(key),
    key.scopes.join(','),
    key.rateLimitPerMinute === null ? 'none' : String(key.rateLimitPerMinute ?? 'default'),
    key.createdAt,
    key.revokedAt ?? key.expiresAt ?? '',
    key.replacedBy ?? '',
  ]);
  const headers = ['key', 'state', 'scopes', 'limit', 'created', 'until', 'replaced by'];
  return { data: found, text: [formatTable(context, headers, rows), ...moreRowsHint(found)].join('\n') };
};
