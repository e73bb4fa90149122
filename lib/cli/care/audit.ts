import * as z from 'zod';
import type { Action } from '../command.ts';
import { keyId, moment, optionsIn, present } from '../given.ts';
import { listOptions, listed, moreLine } from '../pages.ts';
import { status, table } from '../words.ts';

const shape = z.object({
  ...listOptions,
  action: z.string().min(1).max(64).optional(),
  result: z.enum(['success', 'failure']).optional(),
  key: keyId.optional(),
  from: moment.optional(),
  to: moment.optional(),
});

export const audit: Action = async (given, shell) => {
  const options = optionsIn(given, shape);
  const { action, result, key, from, to } = options;
  const client = await shell.client();
  const query = present({ action, result, keyId: key, since: from, until: to });
  const found = await listed(options, (page) => client.listAudit({ ...page, ...query }, { signal: shell.signal }));
  const rows = found.items.map((entry) => [
    entry.at,
    entry.keyId ?? '–',
    entry.action,
    entry.resource,
    status(shell, entry.result),
    entry.ip ?? '',
    typeof entry.metadata['correlationId'] === 'string' ? entry.metadata['correlationId'] : '',
  ]);
  const heads = ['at', 'key', 'action', 'resource', 'result', 'from', 'correlation'];
  const text = rows.length === 0 ? 'There is no such entry.' : [table(shell, heads, rows), ...moreLine(found)].join('\n');
  return { data: found, text };
};
