import * as z from 'zod';
import { createKeyBody } from '../../api/schemas/keys.ts';
import { type Action, usageFault } from '../command.ts';
import { count, moment, optionsIn, present } from '../given.ts';

const dayMs = 86_400_000;
const known = createKeyBody.shape.scopes.element.options;

const shape = z.object({
  scopes: z
    .string()
    .transform((text) => text.split(',').map((scope) => scope.trim()))
    .pipe(z.array(z.enum(known, { error: `must be of these: ${known.join(', ')}` })).min(1)),
  expiresAt: moment.optional(),
  expiresInDays: count(1, 3_650).optional(),
  rate: z
    .union([z.literal('none').transform(() => null), count(1, 1_000_000)], { error: 'must be a number, or none' })
    .optional(),
});

export const createKey: Action = async (given, shell) => {
  const { scopes, expiresAt, expiresInDays, rate } = optionsIn(given, shape);
  if (expiresAt !== undefined && expiresInDays !== undefined)
    throw usageFault('--expires-at and --expires-in-days exclude each other.');
  const until = expiresInDays === undefined ? expiresAt : new Date(shell.now() + expiresInDays * dayMs).toISOString();
  const client = await shell.client();
  const made = await client.createKey(
    { scopes, ...present({ expiresAt: until }), ...(rate === undefined ? {} : { rateLimitPerMinute: rate }) },
    { signal: shell.signal },
  );
  shell.note(`Key ${made.keyId} of ${made.projectId}/${made.environment}: ${made.scopes.join(', ')}. It is shown this once.`);
  // Alone on stdout, so that it can be piped into a store of secrets.
  return { data: made, text: made.key };
};
