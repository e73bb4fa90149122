/** dynalite's process: rebuilds the indexes, listens on a socket, reports that it is ready, and exits with its parent. */
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import type { Server } from 'node:http';
import { createRequire } from 'node:module';
import { rebuildIndexes } from './dynalite-indexes.ts';

const [, , path, socket] = process.argv;
if (path === undefined || socket === undefined)
  throw new Error('dynalite needs two arguments: the path of its database and of its socket');
if (existsSync(path)) await rebuildIndexes(path);

const dynalite: (options: object) => Server = createRequire(import.meta.url)('dynalite');
const server = dynalite({ path, createTableMs: 0, updateTableMs: 0, deleteTableMs: 0 });
server.keepAliveTimeout = 120_000;
server.listen(socket);
await once(server, 'listening');
process.send?.('listening');

// the channel closes with the parent, also when the parent is killed
process.once('disconnect', () => server.close(() => process.exit(0)));
