/** Servers on 127.0.0.1: nothing of the embedded cloud is reachable from another machine. */
import type { IncomingMessage, Server } from 'node:http';

export interface Listening {
  readonly port: number;
  readonly url: string;
  /** Stops accepting requests, and ends open ones after `graceMs`. */
  close(graceMs?: number): Promise<void>;
}

const isTaken = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';

const tryPort = (server: Server, port: number): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => {
      server.off('error', reject);
      resolve();
    });
  });

/** Listens on the first free port of the 100 ports from `first`; on any free port where it is 0. */
export async function listen(server: Server, firstPort: number): Promise<Listening> {
  // An SDK client may keep an idle connection for longer than Node's 5 s, and must not use a closed one.
  server.keepAliveTimeout = 120_000;
  // Uploads and streams may be slow; their senders are on this machine.
  server.requestTimeout = 0;
  for (let port = firstPort; ; port++) {
    try {
      await tryPort(server, port);
      break;
    } catch (error) {
      if (!isTaken(error) || firstPort === 0 || port >= Math.min(firstPort + 100, 65_535)) throw error;
    }
  }
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : firstPort;
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    close: (graceMs = 0) =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeIdleConnections();
        setTimeout(() => server.closeAllConnections(), graceMs).unref();
      }),
  };
}

/** Reads the whole body, or refuses as soon as it is too large. The rest is then read and discarded. */
export async function readBody(incoming: IncomingMessage, maxBytes: number): Promise<Buffer | 'too large'> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of incoming) {
    if (!Buffer.isBuffer(chunk)) continue;
    bytes += chunk.length;
    if (bytes <= maxBytes) chunks.push(chunk);
    else chunks.length = 0;
  }
  return bytes > maxBytes ? 'too large' : Buffer.concat(chunks);
}

/** Anything before the path is ignored: an absolute-form request target names a host again, and the guard has checked `Host`. */
export function requestUrl({ url = '/', headers }: Pick<IncomingMessage, 'url' | 'headers'>): URL {
  const target = url.startsWith('/') ? url : url.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '');
  return new URL(`http://${headers.host}${target.startsWith('/') ? '' : '/'}${target}`);
}
