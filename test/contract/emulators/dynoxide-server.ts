/** dynoxide as the embedded cloud uses it, with an HTTP port for clients. */
import { createServer } from 'node:http';
import { startDynoxide } from '../../../lib/local/emulators/dynoxide.ts';
import type { Forward } from '../../../lib/local/emulators/forward.ts';
import { listen, readBody } from '../../../lib/local/http/listen.ts';
import { freshFolder } from '../../local/stacks.ts';
import type { Emulator } from './emulator-process.ts';

export async function startDynoxideServer(binary: string): Promise<Emulator> {
  const emulator = await startDynoxide(binary, freshFolder(), (why) => {
    throw new Error(why);
  });
  const port = await listenFor(emulator.forward);
  return {
    endpoint: port.endpoint,
    close: async () => {
      await port.close();
      await emulator.stop();
    },
  };
}

/** An HTTP server that forwards requests to DynamoDB. */
export async function listenFor(forward: Forward): Promise<Emulator> {
  const server = createServer((request, response) => {
    const serve = async (): Promise<void> => {
      const body = await readBody(request, 64 * 1024 * 1024);
      if (body === 'too large') return void response.writeHead(413).end();
      const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
      const answer = await forward({ method: 'POST', path: '/', url: '/', query: new URLSearchParams(), headers, body });
      response.writeHead(answer.status, answer.headers).end(answer.body);
    };
    serve().catch((error: unknown) => response.writeHead(500).end(String(error)));
  });
  const listening = await listen(server, 0);
  return { endpoint: listening.url, close: () => listening.close(0) };
}
