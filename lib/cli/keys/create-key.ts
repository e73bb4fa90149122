import { defined } from '../../engine/defined.ts';
import * as z from 'zod';
import { createKeyBody } from '../../api/schemas/keys.ts';
import { type Action, usageError } from '../command.ts';
import { integerBetween, timestamp, parseOptions, omitUndefined } from '../parse-command-line.ts';

const dayMs = 86_400_000;
const knownScopes = createKeyBody.shape.scopes.element.options;

const shape = z.object({
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
  const { scopes, expiresAt, expiresInDays, rate } = parseOptions(commandLine, shape);
  if (expiresAt !== undefined && expiresInDays !== undefined)
    throw usageError('--expires-at and --expires-in-days exclude each other.');
  const expiry = expiresInDays === undefined ? expiresAt : new Date(context.now() + expiresInDays * dayMs).toISOString();
  const client = await context.client();
  const createdKey = await client.createKey(
    defined({ scopes, ...omitUndefined({ expiresAt: expiry }), rateLimitPerMinute: rate }),
    { signal: context.signal },
  );
  context.log(
    `Key ${createdKey.keyId} of ${createdKey.projectId}/${createdKey.environment}: ${createdKey.scopes.join(', ')}. It is shown this once.`,
  );
  // Alone on stdout, so that it can be piped into a store of secrets.
  return { data: createdKey, text: createdKey.key };
};
