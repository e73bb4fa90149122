import * as z from 'zod';
import type { Action } from '../command.ts';
import { optionsIn } from '../given.ts';
import { listOptions, listed, moreLine } from '../pages.ts';
import { status, table } from '../words.ts';

const shape = z.object(listOptions);

export const listKeys: Action = async (given, shell) => {
  const options = optionsIn(given, shape);
  const client = await shell.client();
  const found = await listed(options, (page) => client.listKeys(page, { signal: shell.signal }));
  const stateOf = ({ revokedAt, expiresAt }: (typeof found.items)[number]): string => {
    if (revokedAt !== undefined) return status(shell, 'cancelled').replace('cancelled', 'revoked');
    const isOver = expiresAt !== undefined && Date.parse(expiresAt) <= shell.now();
    return isOver ? status(shell, 'cancelled').replace('cancelled', 'expired') : status(shell, 'active');
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
  const heads = ['key', 'state', 'scopes', 'limit', 'created', 'until', 'replaced by'];
  return { data: found, text: [table(shell, heads, rows), ...moreLine(found)].join('\n') };
};
