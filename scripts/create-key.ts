/**
 * `npm run create-key -- --table <control table> --scopes admin`: creates an API key with the operator's AWS credentials.
 * The key is printed once and not stored; the table contains the SHA-256 of its secret.
 */
import { randomBytes } from 'node:crypto';
import * as z from 'zod';
import { newKey } from '../lib/api/auth.ts';
import { dynamoClient } from '../lib/aws/clients.ts';
import { DynamoKeys } from '../lib/aws/keys.ts';
import { Table } from '../lib/aws/table.ts';
import { environment, environmentPattern, projectId, projectIdPattern } from '../lib/engine/ids.ts';
import { after, days, instant } from '../lib/engine/time.ts';
import { keyScopes } from '../lib/ports/control.ts';
import { parseOptionsOrExit } from './options.ts';

const usage = `usage: npm run create-key -- --table <control table> --scopes <scope,scope …>
         [--project default] [--environment prod] [--expires-in-days <n>] [--rate <requests a minute> | --rate none]
scopes: ${keyScopes.join(', ')}`;

const count = z.coerce.number().int().min(1);
const optionsShape = z.object({
  table: z.string().min(1),
  scopes: z
    .string()
    .transform((text) => text.split(','))
    .pipe(z.array(z.enum(keyScopes)).min(1)),
  project: z.string().regex(projectIdPattern).transform(projectId),
  environment: z.string().regex(environmentPattern).transform(environment),
  'expires-in-days': count.max(3_650).exactOptional(),
  rate: z.union([z.literal('none').transform(() => null), count]).exactOptional(),
});

const keyOptions = parseOptionsOrExit({
  usage,
  options: {
    table: { type: 'string' },
    scopes: { type: 'string' },
    project: { type: 'string', default: 'default' },
    environment: { type: 'string', default: 'prod' },
    'expires-in-days': { type: 'string' },
    rate: { type: 'string' },
  },
  shape: optionsShape,
});
const now = instant(Date.now());
const { text, keyId, secretHash } = newKey(keyOptions.environment, randomBytes);
const expiresInDays = keyOptions['expires-in-days'];
const stored = await new DynamoKeys(new Table(dynamoClient(), keyOptions.table)).putKey({
  keyId,
  secretHash,
  projectId: keyOptions.project,
  environment: keyOptions.environment,
  scopes: keyOptions.scopes,
  createdAt: now,
  ...(expiresInDays === undefined ? {} : { expiresAt: after(now, days(expiresInDays)) }),
  ...(keyOptions.rate === undefined ? {} : { rateLimitPerMinute: keyOptions.rate }),
});
if (stored === 'occupied') {
  console.error(`The key id ${keyId} is already in use. Run the command again.`);
  process.exit(1);
}
// Only the key is written to standard output, so that it can be piped into a secret store.
console.log(text);
console.error(
  `Key ${keyId} of ${keyOptions.project}/${keyOptions.environment}: ${keyOptions.scopes.join(', ')}. It is not shown again.`,
);
