/** Wires the socket functions to the store of connections and memberships, and to the watch queue. */
import { dynamoClient, queueClient } from '../../lib/aws/clients.ts';
import { settingsFrom } from '../../lib/aws/environment.ts';
import { DynamoSockets } from '../../lib/aws/sockets.ts';
import { Table } from '../../lib/aws/table.ts';
import { SqsWatches } from '../../lib/aws/jobs.ts';
import type { Sockets, Watches } from '../../lib/ports/sockets.ts';

export const createSockets = (): Sockets => new DynamoSockets(new Table(dynamoClient(), settingsFrom(process.env).controlTable));

export const createWatches = (): Watches => new SqsWatches(queueClient(), settingsFrom(process.env).watchQueueUrl);
