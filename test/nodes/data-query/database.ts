/** A local Postgres over its real protocol. */
import { type AddressInfo, type Server, type Socket, createServer } from 'node:net';
import { PGlite } from '@electric-sql/pglite';
import { PGLiteSocketServer } from '@electric-sql/pglite-socket';

export interface Database {
  readonly db: PGlite;
  /** connection secret for this server */
  readonly connection: string;
  stop(): Promise<void>;
}

export const connectionTo = (port: number): string =>
  JSON.stringify({
    host: '127.0.0.1',
    port,
    dbname: 'postgres',
    username: 'postgres',
    password: 'pg-planted-secret',
    tls: 'off',
  });

export async function startDatabase(): Promise<Database> {
  const db = await PGlite.create();
  const port = await freePort();
  const server = new PGLiteSocketServer({ db, port, host: '127.0.0.1', maxConnections: 10 });
  await server.start();
  return {
    db,
    connection: connectionTo(port),
    stop: async () => {
      await server.stop();
      await db.close();
    },
  };
}

const portOf = (server: Server): number => {
  const address: AddressInfo | string | null = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
};

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const port = portOf(server);
  await new Promise((resolve) => server.close(resolve));
  return port;
}

export interface Silent {
  readonly connection: string;
  /** texts of simple queries, by connection */
  readonly heard: string[][];
  stop(): Promise<void>;
}

/** A protocol message: type, length, content. */
const message = (letter: string, content: Buffer = Buffer.alloc(0)): Buffer => {
  const length = Buffer.alloc(4);
  length.writeInt32BE(content.length + 4);
  return Buffer.concat([Buffer.from(letter), length, content]);
};
const ready = message('Z', Buffer.from('I'));
const done = (tag: string): Buffer => message('C', Buffer.from(`${tag}\0`));

/**
 * A server that accepts every login and begin, and then stays silent or breaks the connection. PGlite cannot do that, because it
 * has no clock and no second process.
 */
export async function startSilent(then: (socket: Socket) => void = () => undefined): Promise<Silent> {
  const heard: string[][] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    const own: string[] = [];
    heard.push(own);
    sockets.add(socket);
    socket.on('error', () => undefined);
    let isIn = false;
    socket.on('data', (data: Buffer) => {
      if (!isIn) {
        isIn = true;
        socket.write(Buffer.concat([message('R', Buffer.alloc(4)), ready]));
        return;
      }
      const text = data.toString('latin1');
      own.push(text);
      if (text.includes('BEGIN')) socket.write(Buffer.concat([pidRow(), ready]));
      else then(socket);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    heard,
    connection: connectionTo(portOf(server)),
    stop: () => {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

/** Responses to the begin of a transaction; the last one is the process id 4711. */
const pidRow = (): Buffer => {
  const field = Buffer.concat([Buffer.from('pid\0'), Buffer.alloc(6), int32(23), int16(4), int32(-1), int16(0)]);
  const row = Buffer.concat([int16(1), int32(4), Buffer.from('4711')]);
  return Buffer.concat([
    ...['BEGIN', 'SET', 'SET', 'SET'].map(done),
    message('T', Buffer.concat([int16(1), field])),
    message('D', row),
    done('SELECT 1'),
  ]);
};
const int16 = (value: number): Buffer => {
  const buffer = Buffer.alloc(2);
  buffer.writeInt16BE(value);
  return buffer;
};
const int32 = (value: number): Buffer => {
  const buffer = Buffer.alloc(4);
  buffer.writeInt32BE(value);
  return buffer;
};

/** For `startSilent`: sends a row of half a gigabyte while the client is connected. */
export function sendEndlessRow(socket: Socket): void {
  const field = Buffer.concat([Buffer.from('big\0'), Buffer.alloc(6), int32(25), int16(-1), int32(-1), int16(0)]);
  socket.write(Buffer.concat([message('1'), message('2'), message('T', Buffer.concat([int16(1), field]))]));
  const size = 500_000_000;
  socket.write(Buffer.concat([Buffer.from('D'), int32(size + 10), int16(1), int32(size)]));
  const chunk = Buffer.alloc(65_536, 'x');
  const more = (): void => {
    while (!socket.destroyed && socket.write(chunk));
  };
  socket.on('drain', more);
  more();
}
