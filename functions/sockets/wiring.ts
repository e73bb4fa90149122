/** Wires the functions of the WebSocket API to the store of connections, to the watch queue and to the gateway's management API. */
import { dynamoClient, queueClient } from '../../lib/aws/clients.ts';
import { settingsFrom } from '../../lib/aws/environment.ts';
import { SqsWatches } from '../../lib/aws/jobs.ts';
import { GatewayPosts, postsClient } from '../../lib/aws/posts.ts';
import { DynamoSockets } from '../../lib/aws/sockets.ts';
import { Table } from '../../lib/aws/table.ts';
import type { Posts } from '../../lib/ports/sockets.ts';
import type { Sockets, Watches } from '../../lib/ports/sockets.ts';

export const createSockets = (): Sockets => new DynamoSockets(new Table(dynamoClient(), settingsFrom(process.env).controlTable));

export const createWatches = (): Watches => new SqsWatches(queueClient(), settingsFrom(process.env).watchQueueUrl);

export const createPosts = (): Posts => new GatewayPosts(postsClient(settingsFrom(process.env).socketsUrl));
