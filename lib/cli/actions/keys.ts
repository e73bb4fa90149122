/** `stepwell keys create`, `list`, `rotate` and `revoke`. */
import * as z from 'zod';
import { createKeyBody } from '../../api/schemas/keys.ts';
import { type Action, usageError } from '../command.ts';
import { formatStatus, formatTable } from '../format.ts';
import { listOptions, moreRowsHint, readRows } from '../pages.ts';
import { integerBetween, keyId, omitUndefined, parseArgument, parseOptions, timestamp } from '../parse-command-line.ts';
import { defined } from '../../base/defined.ts';

const dayMs = 86_400_000;
const knownScopes = createKeyBody.shape.scopes.element.options;

const createKeyOptions = z.object({
  scopes: z
    .string()
    .transform((text) => text.split(',').map((scope) => scope.trim()))
    .pipe(z.array(z.enum(knownScopes, { error: `must be of these: ${knownScopes.join(', ')}` })).min(1)),
  expiresAt: timestamp.optional(),
  expiresInDays: integerBetween(1, 3_650).optional(),
  rate: z
    .union([z.literal('none').transform(() => null), integerBetween(1, 1_000_000)], { error: 'must be a number, or none' })
    .optional(),
});

export const createKey: Action = async (commandLine, context) => {
  const { scopes, expiresAt, expiresInDays, rate } = parseOptions(commandLine, createKeyOptions);
  if (expiresAt !== undefined && expiresInDays !== undefined)
    throw usageError('--expires-at and --expires-in-days exclude each other.');
  const expiry = expiresInDays === undefined ? expiresAt : new Date(context.now() + expiresInDays * dayMs).toISOString();
  const client = await context.client();
  const createdKey = await client.createKey(
    defined({ scopes, ...omitUndefined({ expiresAt: expiry }), rateLimitPerMinute: rate }),
    { signal: context.signal },
  );
  context.log(
    `Key ${createdKey.keyId} of ${createdKey.projectId}/${createdKey.environment}: ${createdKey.scopes.join(', ')}. It is shown only once.`,
  );
  // stdout contains only the key, so that it can be piped into a secret store.
  return { data: createdKey, text: createdKey.key };
};

const listKeysOptions = z.object(listOptions);

export const listKeys: Action = async (commandLine, context) => {
  const options = parseOptions(commandLine, listKeysOptions);
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

const rotateKeyOptions = z.object({ overlapSeconds: integerBetween(0, 604_800).optional() });

export const rotateKey: Action = async (commandLine, context) => {
  const id = parseArgument(commandLine, 0, 'keyId', keyId);
  const { overlapSeconds } = parseOptions(commandLine, rotateKeyOptions);
  const client = await context.client();
  const newKey = await client.rotateKey(id, omitUndefined({ overlapSeconds }), { signal: context.signal });
  context.log(`Key ${newKey.keyId} replaces ${id}, which works until ${newKey.replaces.expiresAt}. It is shown only once.`);
  return { data: newKey, text: newKey.key };
};

export const revokeKey: Action = async (commandLine, context) => {
  const id = parseArgument(commandLine, 0, 'keyId', keyId);
  const client = await context.client();
  const revoked = await client.revokeKey(id, { signal: context.signal });
  return { data: revoked, text: `${id} is revoked since ${revoked.revokedAt}; it stops working within 30 seconds.` };
};
