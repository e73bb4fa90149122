/** The inside of dynalite's process: makes the indexes anew, serves, says the port, and ends when its parent does. */
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import type { Server } from 'node:http';
import { createRequire } from 'node:module';
import { rebuildIndexes } from './dynalite-indexes.ts';

const path = process.argv[2];
if (path === undefined) throw new Error('dynalite needs the path of its database');
if (existsSync(path)) await rebuildIndexes(path);

const dynalite: (options: object) => Server = createRequire(import.meta.url)('dynalite');
const server = dynalite({ path, createTableMs: 0, updateTableMs: 0, deleteTableMs: 0 });
server.keepAliveTimeout = 120_000;
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const address = server.address();
process.send?.({ port: typeof address === 'object' && address !== null ? address.port : 0 });

// the channel closes with the parent, however that ended
process.once('disconnect', () => server.close(() => process.exit(0)));
