/**
 * An HTTP server of the embedded cloud. Every request passes the caller guard, its head has API Gateway's limits, and a request
 * that the parser refuses gets a response with a body. Node alone would send no body, or reset the connection.
 */
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { type AllowedOrigins, checkCaller } from './caller-guard.ts';
import { limits } from './limits.ts';
import { type RefusedRequest, refusalResponse, refusedRequests } from './refused-request.ts';

/** Node reads heads up to this size completely, so the limit check is exact; a larger head is refused by the parser. In bytes. */
const maxParsedHeadBytes = 1024 * 1024;
/** How long a refused connection is read, so that its sender can read the response, in milliseconds. */
const lingerMs = 2_000;

export interface Guard {
  /** read for each request, because the ports are known only once all servers listen; undefined: no page may call */
  readonly origins: () => AllowedOrigins | undefined;
}

export function guardedServer(listener: RequestListener, guard: Guard): Server {
  const guarded: RequestListener = (request, response) => {
    const refused = checkRequestHead(request, guard);
    if (refused === undefined) return listener(request, response);
    sendRefusal(response, refused);
    // The rest of the body is read and discarded, so that the connection can be reused.
    request.resume();
  };
  // The guard refuses a request without Host, with a body; Node's own check would send none.
  const server = createServer({ maxHeaderSize: maxParsedHeadBytes, requireHostHeader: false }, guarded);
  server.on('checkExpectation', (_request: IncomingMessage, response: ServerResponse) =>
    sendRefusal(response, refusedRequests.expectation),
  );
  const answeredSockets = new WeakSet<Duplex>();
  server.on('clientError', (error: Error & { readonly code?: string }, socket: Duplex) => {
    // The parser reports an error for each further chunk.
    if (answeredSockets.has(socket)) return;
    answeredSockets.add(socket);
    if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
    refuseConnection(socket, refusalOfParserError(error.code));
  });
  return server;
}

/** Why the request is refused, from its head alone; undefined: accepted. Also for upgrades. */
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

/** Writes the refusal to a connection without a response object, and reads on for a while: closing early would reset it. */
export function refuseConnection(socket: Duplex, refused: RefusedRequest): void {
  const { headers, body } = refusalResponse(refused);
  const lines = Object.entries({ ...headers, connection: 'close' });
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  socket.on('error', () => socket.destroy());
  socket.end(`HTTP/1.1 ${refused.status} Refused\r\n${head}\r\n${body}`);
  socket.resume();
  setTimeout(() => socket.destroy(), lingerMs).unref();
}
