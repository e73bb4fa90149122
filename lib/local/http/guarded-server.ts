/**
 * A server of the embedded cloud. Every request passes the guard, its head is bounded as API Gateway bounds it, and a request that
 * the parser refuses is answered too: Node by itself answers it without a body, or resets the connection.
 */
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { type AllowedOrigins, checkCaller } from './caller-guard.ts';
import { limits } from './limits.ts';
import { type RefusedRequest, refusalResponse, refusedRequests } from './refused-request.ts';

/** Up to here Node reads a request's head whole, so that what is too long is known; beyond, only that it is too long. In bytes. */
const maxParsedHeadBytes = 1024 * 1024;
/** How long a refused connection is read on, so that its sender gets to read the answer, in milliseconds. */
const lingerMs = 2_000;

export interface Guard {
  /** asked for each request, because the ports are known only once all servers listen; undefined: no page may ask */
  readonly origins: () => AllowedOrigins | undefined;
}

export function guardedServer(listener: RequestListener, guard: Guard): Server {
  const guarded: RequestListener = (request, response) => {
    const refused = checkRequestHead(request, guard);
    if (refused === undefined) return listener(request, response);
    sendRefusal(response, refused);
    // What is left of the body is read and thrown away, so that the connection stays of use.
    request.resume();
  };
  // Without Host the guard refuses: Node would do so without a body.
  const server = createServer({ maxHeaderSize: maxParsedHeadBytes, requireHostHeader: false }, guarded);
  server.on('checkExpectation', (_request: IncomingMessage, response: ServerResponse) =>
    sendRefusal(response, refusedRequests.expectation),
  );
  const answeredSockets = new WeakSet<Duplex>();
  server.on('clientError', (error: Error & { readonly code?: string }, socket: Duplex) => {
    // The parser complains of each further piece.
    if (answeredSockets.has(socket)) return;
    answeredSockets.add(socket);
    if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
    refuseConnection(socket, refusalOfParserError(error.code));
  });
  return server;
}

/** Why the request is refused before anything of it is looked at; undefined: it is not. Also for upgrades. */
export function checkRequestHead({ url = '', headers, rawHeaders, method = '' }: IncomingMessage, guard: Guard) {
  const rejection = checkCaller(headers, guard.origins());
  if (rejection !== undefined) return refusedRequests[rejection];
  const lineBytes = Buffer.byteLength(method) + Buffer.byteLength(url) + ' HTTP/1.1'.length + 1;
  if (lineBytes > limits.headBytes) return refusedRequests.uri;
  const valueBytes = rawHeaders.reduce((sum, text, at) => (at % 2 === 1 ? sum + Buffer.byteLength(text) : sum), 0);
  return lineBytes + valueBytes > limits.headBytes ? refusedRequests.headers : undefined;
}

function sendRefusal(response: ServerResponse, refused: RefusedRequest): void {
  const { headers, body } = refusalResponse(refused);
  response.writeHead(refused.status, headers).end(body);
}

const refusalOfParserError = (code: string | undefined): RefusedRequest => {
  if (code === 'HPE_HEADER_OVERFLOW') return refusedRequests.headers;
  return code === 'ERR_HTTP_REQUEST_TIMEOUT' ? refusedRequests.slow : refusedRequests.malformed;
};

/** Writes the refusal to a connection without a response, and reads on for a while: closing it unread would reset it. */
export function refuseConnection(socket: Duplex, refused: RefusedRequest): void {
  const { headers, body } = refusalResponse(refused);
  const lines = Object.entries({ ...headers, connection: 'close' });
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  socket.on('error', () => socket.destroy());
  socket.end(`HTTP/1.1 ${refused.status} Refused\r\n${head}\r\n${body}`);
  socket.resume();
  setTimeout(() => socket.destroy(), lingerMs).unref();
}
