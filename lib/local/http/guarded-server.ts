/**
 * An HTTP server of the embedded cloud. Every request passes the caller guard, its head has API Gateway's limits, and a request
 * that the parser refuses gets a response with a body. Node alone would send no body, or reset the connection.
 */
import { type IncomingMessage, type RequestListener, type Server, type ServerResponse, createServer } from 'node:http';
import type { Duplex } from 'node:stream';
import { type AllowedOrigins, checkCaller } from './caller-guard.ts';
import { apiLimits } from '../limits.ts';
import { randomUUID } from 'node:crypto';

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

interface RawHeaders {
  /** names and values in turn */
  readonly rawHeaders: readonly string[];
}

/** Why the request is refused, from its head alone; undefined: accepted. Also for upgrades. */
export function checkRequestHead(
  { url = '', headers, rawHeaders, method = '' }: Pick<IncomingMessage, 'url' | 'headers' | 'method'> & RawHeaders,
  guard: Guard,
) {
  const rejection = checkCaller(headers, guard.origins());
  if (rejection !== undefined) return refusedRequests[rejection];
  const lineBytes = Buffer.byteLength(method) + Buffer.byteLength(url) + ' HTTP/1.1'.length + 1;
  if (lineBytes > apiLimits.headBytes) return refusedRequests.uri;
  const valueBytes = rawHeaders.reduce((sum, text, at) => (at % 2 === 1 ? sum + Buffer.byteLength(text) : sum), 0);
  return lineBytes + valueBytes > apiLimits.headBytes ? refusedRequests.headers : undefined;
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

export interface RefusedRequest {
  readonly status: number;
  /** a code of the product's catalogue */
  readonly code: 'invalid_request' | 'request_blocked';
  readonly message: string;
}

/** API Gateway's own refusals have the template's code for a default 4XX; the status distinguishes them. */
const invalid = (status: number, message: string): RefusedRequest => ({ status, code: 'invalid_request', message });
const blocked = (message: string): RefusedRequest => ({ status: 403, code: 'request_blocked', message });

const maxHead = `${apiLimits.headBytes.toLocaleString('en-US')} bytes`;

const refusedRequests = {
  host: blocked('The header Host names another host: use the address with localhost or 127.0.0.1.'),
  origin: blocked('Pages of this origin may not call the API: add the origin to STEPWELL_ORIGINS and start again.'),
  uri: invalid(414, `The URL is longer than ${maxHead}: shorten the query, or send long values in a body.`),
  headers: invalid(
    431,
    `The request line and the values of the headers are longer than ${maxHead} together: send fewer or shorter headers.`,
  ),
  malformed: invalid(400, 'The request is not valid HTTP/1.1.'),
  slow: invalid(408, 'The request did not arrive within its time limit: send it again.'),
  expectation: invalid(417, 'The header Expect may only ask for 100-continue.'),
} as const satisfies Record<string, RefusedRequest>;

/** Headers and body of the response. */
export function refusalResponse({ code, message }: RefusedRequest): {
  readonly headers: Record<string, string>;
  readonly body: string;
} {
  const correlationId = randomUUID();
  const body = JSON.stringify({ code, message, correlationId });
  return {
    headers: {
      'content-length': String(Buffer.byteLength(body)),
      'content-type': 'application/json',
      'x-amzn-requestid': correlationId,
      'x-workflow-correlation-id': correlationId,
    },
    body,
  };
}
