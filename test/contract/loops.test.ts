/** The logs of loops in memory and on every available DynamoDB emulator. */
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe } from 'vitest';
import { DynamoRunIndex } from '../../lib/aws/run-index.ts';
import { DynamoRunLog } from '../../lib/aws/run-log.ts';
import { createControlTable, createRunsTable, dynamoAt, dynamoImplementations } from './emulators/dynamo.ts';
import type { Emulator } from './emulators/emulator-process.ts';
import { loopsSuite } from './loops.suite.ts';

const close = async (): Promise<void> => {};

loopsSuite({ name: 'memory', open: async () => ({ port: undefined, close }) });

for (const { name, start } of dynamoImplementations) {
  describe(name, () => {
    let emulator: Emulator;
    let client: DynamoDBClient;
    beforeAll(async () => {
      emulator = await start();
      client = dynamoAt(emulator.endpoint);
    });
    afterAll(async () => {
      client.destroy();
      await emulator.close();
    });

    loopsSuite({
      name,
      open: async () => {
        const runs = await createRunsTable(client);
        const log = new DynamoRunLog(runs);
        return { port: { log, index: new DynamoRunIndex({ runs, control: await createControlTable(client) }, log) }, close };
      },
    });
  });
}
