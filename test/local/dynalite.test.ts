import { createRequire } from 'node:module';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import * as z from 'zod';
import { startDynalite } from '../../lib/local/emulators/dynalite.ts';
import type { DynamodbEmulator } from '../../lib/local/emulators/dynoxide.ts';
import { createDynamodbCaller, type CallDynamodb } from '../../lib/local/emulators/forward.ts';
import { deployTables } from '../../lib/local/deploy/tables.ts';
import { freshFolder, templateOf } from './stacks.ts';

const text = (AttributeName: string) => ({ AttributeName, AttributeType: 'S' });
const template = templateOf({
  T: {
    Type: 'AWS::DynamoDB::Table',
    Properties: {
      TableName: 'Things',
      AttributeDefinitions: [text('pk'), text('gp')],
      KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
      GlobalSecondaryIndexes: [
        { IndexName: 'byGp', KeySchema: [{ AttributeName: 'gp', KeyType: 'HASH' }], Projection: { ProjectionType: 'KEYS_ONLY' } },
      ],
    },
  },
});

let running: DynamodbEmulator | undefined;
const start = async (folder: string): Promise<CallDynamodb> => {
  running = await startDynalite(folder, () => {});
  return createDynamodbCaller(running.forward);
};
afterEach(async () => {
  await running?.stop();
  running = undefined;
});

const found = z.object({ Items: z.array(z.object({ pk: z.object({ S: z.string() }) })) });

const inIndex = async (call: CallDynamodb): Promise<string[]> => {
  const { output } = await call('Query', {
    TableName: 'Things',
    IndexName: 'byGp',
    KeyConditionExpression: 'gp = :g',
    ExpressionAttributeValues: { ':g': { S: 'g' } },
  });
  return found
    .parse(output)
    .Items.map(({ pk }) => pk.S)
    .toSorted();
};

interface Level {
  open(): Promise<void>;
  close(): Promise<void>;
  clear(range: object): Promise<void>;
  put(key: string, value: unknown): Promise<void>;
  iterator(range: object): AsyncIterable<readonly [string, unknown]>;
}
/** Changes the database directly, to the state after a kill between two writes. */
async function tamper(path: string, change: (database: Level) => Promise<void>): Promise<void> {
  const require = createRequire(import.meta.url);
  const { Level }: { Level: new (path: string, options: object) => Level } = createRequire(require.resolve('dynalite'))('level');
  const database = new Level(path, { valueEncoding: 'json' });
  await database.open();
  await change(database);
  await database.close();
}

test('dynalite keeps its data, and its indexes are consistent after a start', async () => {
  const folder = freshFolder();
  const before = await start(folder);
  await deployTables(template, before);
  for (const pk of ['a', 'b']) await before('PutItem', { TableName: 'Things', Item: { pk: { S: pk }, gp: { S: 'g' } } });
  expect(await inIndex(before)).toEqual(['a', 'b']);
  await running?.stop();
  // one entry is missing, and one belongs to an item that does not exist
  const entries = { gte: 'index-global~', lt: 'index-global~\xFF' };
  await tamper(join(folder, 'dynalite'), async (database) => {
    let first: readonly [string, unknown] | undefined;
    for await (const entry of database.iterator(entries)) first ??= entry;
    await database.clear(entries);
    await database.put(`${first?.[0] ?? ''}ff`, { pk: { S: 'ghost' }, gp: { S: 'g' } });
  });
  const after = await start(folder);
  expect(await inIndex(after)).toEqual(['a', 'b']);
});
