/** The DynamoDB adapters fulfil the contracts of their ports on every available DynamoDB emulator. */
import { afterAll, beforeAll, describe } from 'vitest';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { text } from '../../lib/aws/item-schema.ts';
import { DynamoAudit, auditPartition } from '../../lib/aws/audit.ts';
import { DynamoDeletions } from '../../lib/aws/deletions.ts';
import { DynamoDrafts } from '../../lib/aws/drafts.ts';
import { DynamoDeployments } from '../../lib/aws/deployments.ts';
import { DynamoKeys } from '../../lib/aws/keys.ts';
import { dynamoLenses, dynamoQueries, dynamoWorkflows } from '../../lib/aws/published.ts';
import { DynamoReservations } from '../../lib/aws/control.ts';
import { DynamoRateWindows } from '../../lib/aws/rate-windows.ts';
import { DynamoRunIndex } from '../../lib/aws/run-index.ts';
import { DynamoRunLog } from '../../lib/aws/run-log.ts';
import { DynamoSchedules } from '../../lib/aws/schedules.ts';
import { DynamoConcurrencySlots } from '../../lib/aws/concurrency-slots.ts';
import { DynamoDevKitStreams, DynamoHookTokens, DynamoRegisteredApps } from '../../lib/aws/devkit.ts';
import { DynamoSignals } from '../../lib/aws/signals.ts';
import { DynamoExternalLogs } from '../../lib/aws/external-logs.ts';
import { DynamoExternalRuns } from '../../lib/aws/external-runs.ts';
import { DynamoSockets } from '../../lib/aws/sockets.ts';
import { DynamoStoredSettings } from '../../lib/aws/stored-settings.ts';
import { DynamoEmbeds } from '../../lib/aws/embeds.ts';
import { DynamoSessions } from '../../lib/aws/sessions.ts';
import { DynamoStreams, DynamoReaderLeases, DynamoTickets } from '../../lib/aws/watching.ts';
import { allOf } from '../../lib/aws/table.ts';
import { controlSuite } from './control.suite.ts';
import { deletableNamesSuite } from './deletable-names.suite.ts';
import { deletionsSuite } from './deletions.suite.ts';
import { draftsSuite } from './drafts.suite.ts';
import { deploymentsSuite } from './deployments.suite.ts';
import { createControlTable, createRunsTable, dynamoAt, dynamoImplementations } from './emulators/dynamo.ts';
import type { Emulator } from './emulators/emulator-process.ts';
import { lenses, queries, workflows } from './published.ts';
import { externalRunsSuite } from './external-runs.suite.ts';
import { runIndexSuite } from './run-index.suite.ts';
import { runLogSuite } from './run-log.suite.ts';
import { schedulesSuite } from './schedules.suite.ts';
import { concurrencySlotsSuite } from './concurrency-slots.suite.ts';
import { devKitSuite } from './devkit.suite.ts';
import { signalsSuite } from './signals.suite.ts';
import { socketsSuite } from './sockets.suite.ts';
import { storedSettingsSuite } from './stored-settings.suite.ts';
import { streamsSuite } from './streams.suite.ts';
import { readerLeasesSuite } from './reader-leases.suite.ts';
import { embedsSuite } from './embeds.suite.ts';
import { sessionsSuite } from './sessions.suite.ts';
import { ticketsSuite } from './tickets.suite.ts';
import { versionsSuite } from './versions.suite.ts';

const close = async (): Promise<void> => {};

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

    runLogSuite({ name, open: async () => ({ port: new DynamoRunLog(await createRunsTable(client)), close }) });

    runIndexSuite({
      name,
      open: async () => {
        const runs = await createRunsTable(client);
        const log = new DynamoRunLog(runs);
        const control = await createControlTable(client);
        const index = new DynamoRunIndex({ runs, control }, log, 'platform', new DynamoExternalLogs(runs));
        return { port: { log, index, externalRuns: new DynamoExternalRuns(runs) }, close };
      },
    });

    versionsSuite(workflows, { name, open: async () => ({ port: dynamoWorkflows(await createControlTable(client)), close }) });
    deletableNamesSuite({ name, open: async () => ({ port: dynamoWorkflows(await createControlTable(client)), close }) });
    deletionsSuite({ name, open: async () => ({ port: new DynamoDeletions(await createControlTable(client)), close }) });
    draftsSuite({ name, open: async () => ({ port: new DynamoDrafts(await createControlTable(client)), close }) });
    versionsSuite(lenses, { name, open: async () => ({ port: dynamoLenses(await createControlTable(client)), close }) });
    versionsSuite(queries, { name, open: async () => ({ port: dynamoQueries(await createControlTable(client)), close }) });

    deploymentsSuite({ name, open: async () => ({ port: new DynamoDeployments(await createControlTable(client)), close }) });

    storedSettingsSuite({
      name,
      open: async () => ({ port: new DynamoStoredSettings(await createControlTable(client)), close }),
    });
    schedulesSuite({ name, open: async () => ({ port: new DynamoSchedules(await createControlTable(client)), close }) });
    concurrencySlotsSuite({
      name,
      open: async () => ({ port: new DynamoConcurrencySlots(await createControlTable(client)), close }),
    });
    signalsSuite({ name, open: async () => ({ port: new DynamoSignals(await createControlTable(client)), close }) });

    devKitSuite({
      name,
      open: async () => {
        const [runs, control] = [await createRunsTable(client), await createControlTable(client)];
        const port = {
          hookTokens: new DynamoHookTokens(runs),
          devKitStreams: new DynamoDevKitStreams(runs),
          registeredApps: new DynamoRegisteredApps(control),
        };
        return { port, close };
      },
    });
    externalRunsSuite({ name, open: async () => ({ port: new DynamoExternalRuns(await createRunsTable(client)), close }) });

    streamsSuite({ name, open: async () => ({ port: new DynamoStreams(await createRunsTable(client)), close }) });

    socketsSuite({ name, open: async () => ({ port: new DynamoSockets(await createControlTable(client)), close }) });

    readerLeasesSuite({ name, open: async () => ({ port: new DynamoReaderLeases(await createControlTable(client)), close }) });
    embedsSuite({ name, open: async () => ({ port: new DynamoEmbeds(await createControlTable(client)), close }) });
    sessionsSuite({ name, open: async () => ({ port: new DynamoSessions(await createControlTable(client)), close }) });

    ticketsSuite({ name, open: async () => ({ port: new DynamoTickets(await createControlTable(client)), close }) });

    controlSuite({
      name,
      open: async () => {
        const table = await createControlTable(client);
        const port = {
          keys: new DynamoKeys(table),
          reservations: new DynamoReservations(table),
          audit: new DynamoAudit(table),
          rates: new DynamoRateWindows(table),
          audited: async (...trail: Parameters<typeof auditPartition>) => {
            const values = { ':pk': text(auditPartition(...trail)) };
            return (await allOf(table.query({ KeyConditionExpression: 'pk = :pk', ExpressionAttributeValues: values }))).length;
          },
        };
        return { port, close };
      },
    });
  });
}
