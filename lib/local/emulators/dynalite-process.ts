/** The inside of dynalite's process: makes the indexes anew, serves a socket, says so, and ends when its parent does. */
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import type { Server } from 'node:http';
import { createRequire } from 'node:module';
import { rebuildIndexes } from './dynalite-indexes.ts';

const [, , path, socket] = process.argv;
if (path === undefined || socket === undefined) throw new Error('dynalite needs the paths of its database and of its socket');
if (existsSync(path)) await rebuildIndexes(path);

const dynalite: (options: object) => Server = createRequire(import.meta.url)('dynalite');
const server = dynalite({ path, createTableMs: 0, updateTableMs: 0, deleteTableMs: 0 });
server.keepAliveTimeout = 120_000;
server.listen(socket);
await once(server, 'listening');
process.send?.('listening');

// the channel closes with the parent, however that ended
process.once('disconnect', () => server.close(() => process.exit(0)));
