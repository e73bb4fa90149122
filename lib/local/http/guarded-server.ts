/**
 * A server of the embedded cloud. Every request passes the guard, its head is bounded as API Gateway bounds it, and a request that
 * the parser refuses is answered too: Node by itself answers it without a body, or resets the connection.
 */
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { type AllowedOrigins, callerFault } from './caller-guard.ts';
import { limits } from './limits.ts';
import { type RefusedRequest, refusalOf, refusedRequests } from './refused-request.ts';

/** Up to here Node reads a request's head whole, so that what is too long is known; beyond, only that it is too long. In bytes. */
const parsedHeadBytes = 1024 * 1024;
/** How long a refused connection is read on, so that its sender gets to read the answer, in milliseconds. */
const lingerMs = 2_000;

export interface Guard {
  /** asked for each request, because the ports are known only once all servers listen; undefined: no page may ask */
  readonly origins: () => AllowedOrigins | undefined;
}

export function guardedServer(listener: RequestListener, guard: Guard): Server {
  const guarded: RequestListener = (request, response) => {
    const refused = refusedAtTheHead(request, guard);
    if (refused === undefined) return listener(request, response);
    answer(response, refused);
    // What is left of the body is read and thrown away, so that the connection stays of use.
    request.resume();
  };
  // Without Host the guard refuses: Node would do so without a body.
  const server = createServer({ maxHeaderSize: parsedHeadBytes, requireHostHeader: false }, guarded);
  server.on('checkExpectation', (_request: IncomingMessage, response: ServerResponse) =>
    answer(response, refusedRequests.expectation),
  );
  const answered = new WeakSet<Duplex>();
  server.on('clientError', (error: Error & { readonly code?: string }, socket: Duplex) => {
    // The parser complains of each further piece.
    if (answered.has(socket)) return;
    answered.add(socket);
    if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
    refuseConnection(socket, refusalOfFault(error.code));
  });
  return server;
}

/** Why the request is refused before anything of it is looked at; undefined: it is not. Also for upgrades. */
export function refusedAtTheHead({ url = '', headers, rawHeaders, method = '' }: IncomingMessage, guard: Guard) {
  const fault = callerFault(headers, guard.origins());
  if (fault !== undefined) return refusedRequests[fault];
  const line = Buffer.byteLength(method) + Buffer.byteLength(url) + ' HTTP/1.1'.length + 1;
  if (line > limits.headBytes) return refusedRequests.uri;
  const values = rawHeaders.reduce((sum, text, at) => (at % 2 === 1 ? sum + Buffer.byteLength(text) : sum), 0);
  return line + values > limits.headBytes ? refusedRequests.headers : undefined;
}

function answer(response: ServerResponse, refused: RefusedRequest): void {
  const { headers, body } = refusalOf(refused);
  response.writeHead(refused.status, headers).end(body);
}

const refusalOfFault = (code: string | undefined): RefusedRequest => {
  if (code === 'HPE_HEADER_OVERFLOW') return refusedRequests.headers;
  return code === 'ERR_HTTP_REQUEST_TIMEOUT' ? refusedRequests.slow : refusedRequests.malformed;
};

/** Writes the refusal to a connection without a response, and reads on for a while: closing it unread would reset it. */
export function refuseConnection(socket: Duplex, refused: RefusedRequest): void {
  const { headers, body } = refusalOf(refused);
  const lines = Object.entries({ ...headers, connection: 'close' });
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  socket.on('error', () => socket.destroy());
  socket.end(`HTTP/1.1 ${refused.status} Refused\r\n${head}\r\n${body}`);
  socket.resume();
  setTimeout(() => socket.destroy(), lingerMs).unref();
}
