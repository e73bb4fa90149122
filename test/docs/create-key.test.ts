/** `npm run create-key`, as docs/DEPLOY.md tells to use it, against a table that speaks DynamoDB's protocol. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseKey } from '../../lib/api/auth.ts';
import { DynamoKeys } from '../../lib/aws/keys.ts';
import type { Table } from '../../lib/aws/table.ts';
import { environment, projectId } from '../../lib/engine/ids.ts';
import { createControlTable, dynamoAt, dynamoImplementations, testCredentials } from '../contract/emulators/dynamo.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const [implementation] = dynamoImplementations;
let emulator: { readonly endpoint: string; close(): Promise<void> };
let table: Table;
beforeAll(async () => {
  if (implementation === undefined) throw new Error('no implementation of DynamoDB is installed');
  emulator = await implementation.start();
  table = await createControlTable(dynamoAt(emulator.endpoint));
});
afterAll(() => emulator.close());

async function createKey(...options: readonly string[]) {
  const child = spawn(process.execPath, ['bin/check-node.mjs', 'scripts/create-key.ts', ...options], {
    cwd: root,
    env: {
      ...process.env,
      AWS_ENDPOINT_URL_DYNAMODB: emulator.endpoint,
      AWS_REGION: 'eu-central-1',
      AWS_ACCESS_KEY_ID: testCredentials.accessKeyId,
      AWS_SECRET_ACCESS_KEY: testCredentials.secretAccessKey,
    },
  });
  const said = { out: '', err: '' };
  child.stdout.on('data', (chunk: Buffer) => (said.out += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (said.err += chunk.toString()));
  await once(child, 'close');
  return { status: child.exitCode, ...said };
}

test('prints a key whose digest is in the table, and nothing else', async () => {
  const { status, out, err } = await createKey(
    '--table',
    table.name,
    '--project',
    'shop',
    '--environment',
    'prod',
    '--scopes',
    'runs:read,trigger:write',
    '--rate',
    '600',
    '--expires-in-days',
    '30',
  );
  expect([status, out]).toEqual([0, expect.stringMatching(/^sw_prod_[0-9A-Za-z]+_[0-9A-Za-z]+\n$/)]);
  const presented = parseKey(out.trim());
  const key = presented && (await new DynamoKeys(table).key(presented.keyId));
  expect(key).toMatchObject({
    projectId: 'shop',
    environment: 'prod',
    scopes: ['runs:read', 'trigger:write'],
    rateLimitPerMinute: 600,
    secretHash: presented?.secretHash,
  });
  // … and an admin key of that project sees it in its list
  const scope = { projectId: projectId('shop'), environment: environment('prod') };
  expect(await new DynamoKeys(table).listKeys(scope, { limit: 5 })).toEqual({ keys: [key] });
  expect((key?.expiresAt ?? 0) - (key?.createdAt ?? 0)).toBe(30 * 86_400_000);
  expect(err).toContain('not shown again');
  expect(err).not.toContain(out.trim());
});

describe('is refused, with what is wrong and how it is used', () => {
  test.each([
    ['without a table', ['--scopes', 'admin'], 'table'],
    ['with a scope that is none', ['--table', 't', '--scopes', 'everything'], 'scopes[0]'],
    ['with an environment that is none', ['--table', 't', '--scopes', 'admin', '--environment', 'Prod!'], 'environment'],
    ['with a rate of nothing', ['--table', 't', '--scopes', 'admin', '--rate', '0'], 'rate'],
    ['with an option that is none', ['--table', 't', '--scopes', 'admin', '--colour', 'red'], '--colour'],
  ])('%s', async (_how, options, named) => {
    const { status, out, err } = await createKey(...options);
    expect([status, out]).toEqual([2, '']);
    expect(err).toContain(named);
    expect(err).toContain('usage: npm run create-key');
  });
});
