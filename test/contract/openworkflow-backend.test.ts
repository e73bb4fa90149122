/** The openworkflow backend on every available store. */
import { afterAll, beforeAll, describe } from 'vitest';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoExternalRuns } from '../../lib/aws/external-runs.ts';
import { MemoryExternalRuns } from '../../lib/memory/external-runs.ts';
import { createRunsTable, dynamoAt, dynamoImplementations } from './emulators/dynamo.ts';
import type { Emulator } from './emulators/emulator-process.ts';
import { openworkflowBackendSuite } from './openworkflow-backend.suite.ts';

const close = async (): Promise<void> => {};

openworkflowBackendSuite({ name: 'memory', open: async () => ({ port: new MemoryExternalRuns(), close }) });

for (const { name, start } of dynamoImplementations)
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
    openworkflowBackendSuite({
      name,
      open: async () => ({ port: new DynamoExternalRuns(await createRunsTable(client)), close }),
    });
  });
