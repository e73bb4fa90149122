/** An HTTP server that records requests and sends prepared responses. */
import { once } from 'node:events';
import { type IncomingHttpHeaders, type IncomingMessage, type ServerResponse, createServer } from 'node:http';
import { text } from 'node:stream/consumers';

export interface Recorded {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface Answer {
  readonly status: number;
  readonly headers?: Record<string, string>;
  readonly body: object;
}

export interface Recorder {
  readonly endpoint: string;
  /** all requests so far, in order */
  readonly requests: Recorded[];
  close(): Promise<void>;
}

export const startRecorder = async (answer: (request: Recorded) => Answer | 'hang up'): Promise<Recorder> => {
  const requests: Recorded[] = [];
  const server = createServer((request, response) => void respond(request, response)).listen(0, '127.0.0.1');
  const respond = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const recorded = {
      method: request.method ?? '',
      path: request.url ?? '',
      headers: request.headers,
      body: await text(request),
    };
    requests.push(recorded);
    const answered = answer(recorded);
    if (answered === 'hang up') return void request.socket.destroy();
    response.writeHead(answered.status, { 'content-type': 'application/json', ...answered.headers });
    response.end(JSON.stringify(answered.body));
  };
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    endpoint: `http://127.0.0.1:${address.port}`,
    requests,
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
};
