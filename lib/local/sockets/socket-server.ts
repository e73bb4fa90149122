/**
 * API Gateway's WebSocket API on a separate port. The same address also accepts the signed posts of functions to connections and
 * passes them to the services' gateway. The server listens before the template is read, because the template needs its address.
 */
import type { IncomingMessage, RequestListener } from 'node:http';
import type { Duplex } from 'node:stream';
import { type RawData, type WebSocket, WebSocketServer } from 'ws';
import * as z from 'zod';
import type { FindFunction } from '../aws/lambda.ts';
import { type AllowedOrigins, noOrigins } from '../http/caller-guard.ts';
import { guardedServer, checkRequestHead, refuseConnection } from '../http/guarded-server.ts';
import { type Listening, requestUrl, listen } from '../http/listen.ts';
import { type Connections, createConnections, newConnectionId } from './connections.ts';
import { FrameLengths } from './frames.ts';
import { socketLimits } from '../limits.ts';
import { type OpenedConnection, connectEvent, disconnectEvent, messageEvent } from './socket-event.ts';
import type { SocketRoutes } from './socket-routes.ts';

interface SocketParts {
  readonly routes: SocketRoutes;
  readonly find: FindFunction;
  /** origins of pages that may open sockets */
  readonly origins: AllowedOrigins;
  readonly warn: (line: string) => void;
}

export interface SocketServer extends Listening {
  readonly connections: Connections;
  mount(parts: SocketParts): void;
}

const responseShape = z.looseObject({ statusCode: z.coerce.number().int().default(200), body: z.string().nullish() });
const actionShape = z.looseObject({ action: z.string() });

/** @param fallback handles requests that open no socket */
export async function openSocketServer(fallback: RequestListener, firstPort: number): Promise<SocketServer> {
  let mounted: SocketParts | undefined;
  const connections = createConnections();
  const sockets = new WebSocketServer({ noServer: true, maxPayload: socketLimits.messageBytes });
  const server = guardedServer(fallback, { origins: () => noOrigins });
  server.on('upgrade', (request: IncomingMessage, stream: Duplex, head: Buffer) => {
    stream.on('error', () => stream.destroy());
    if (mounted === undefined) return refuseHandshake(stream, 503);
    const parts = mounted;
    const rejection = checkRequestHead(request, { origins: () => parts.origins });
    if (rejection !== undefined) return refuseConnection(stream, rejection);
    runConnectRoute(parts, request)
      .then((opened) => {
        if (typeof opened === 'number') return refuseHandshake(stream, opened);
        const isTooLong = watchFrameLengths(stream);
        sockets.handleUpgrade(request, stream, head, (socket) => serve(parts, connections, opened, { socket, isTooLong }));
      })
      .catch((error: unknown) => {
        parts.warn(`the sockets failed: ${error instanceof Error ? error.message : String(error)}`);
        refuseHandshake(stream, 500);
      });
  });
  const listening = await listen(server, firstPort);
  return {
    ...listening,
    url: listening.url.replace(/^http/, 'ws'),
    connections,
    mount: (parts) => void (mounted = parts),
    close: async (graceMs) => {
      connections.closeAll();
      await listening.close(graceMs);
    },
  };
}

/** The close code of API Gateway for a message that is too big. */
const messageTooBig = 1_009;

/** A refused handshake gets a status without a body. */
const refuseHandshake = (stream: Duplex, status: number): void =>
  void stream.end(`HTTP/1.1 ${status} Refused\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`);

/** Opens the socket, or returns the status that refuses it. */
async function runConnectRoute({ routes, find }: SocketParts, request: IncomingMessage): Promise<OpenedConnection | number> {
  const url = requestUrl(request);
  if (url.pathname.replace(/\/$/, '') !== `/${routes.stage}`) return 403;
  const opened = { connectionId: newConnectionId(), connectedAt: Date.now(), request, url };
  const route = routes.find('$connect');
  const target = route === undefined ? undefined : find(route.functionArn);
  const outcome = await target?.invoke(JSON.stringify(connectEvent(routes, opened)));
  if (outcome?.kind !== 'returned') return 502;
  const { statusCode } = responseShape.parse(JSON.parse(outcome.payload));
  return statusCode >= 200 && statusCode < 300 ? opened : statusCode;
}

/** Returns a check whether a frame so far was too long. Attach it before the stream is handed over, so that it sees all chunks. */
function watchFrameLengths(stream: Duplex): () => boolean {
  const lengths = new FrameLengths();
  let isTooLong = false;
  stream.on('data', (chunk: Buffer) => (isTooLong ||= lengths.read(chunk).some((bytes) => bytes > socketLimits.frameBytes)));
  return () => isTooLong;
}

interface ServedSocket {
  readonly socket: WebSocket;
  readonly isTooLong: () => boolean;
}

function serve(
  { routes, find, warn }: SocketParts,
  connections: Connections,
  opened: OpenedConnection,
  { socket, isTooLong }: ServedSocket,
): void {
  const { connectionId } = opened;
  connections.add(connectionId, socket);
  const invoke = async (routeKey: string, event: object): Promise<void> => {
    const route = routes.find(routeKey);
    const outcome = await find(route?.functionArn ?? '')?.invoke(JSON.stringify(event));
    if (route?.sendsResponse !== true) return;
    const response = outcome?.kind === 'returned' ? responseShape.safeParse(JSON.parse(outcome.payload)).data : undefined;
    const errorBody = JSON.stringify({ message: 'Internal server error', connectionId });
    const text = response === undefined ? errorBody : response.body;
    if (text !== undefined && text !== null && text !== '') await connections.send(connectionId, text);
  };
  const warnFailure = (error: unknown): void =>
    warn(`a socket failed: ${error instanceof Error ? error.message : String(error)}`);
  socket.on('message', (data: RawData) => {
    if (isTooLong()) return void connections.close(connectionId, messageTooBig);
    connections.touch(connectionId);
    const text = textOf(data);
    const routeKey = routeKeyOf(text);
    invoke(routeKey, messageEvent(routes, opened, routeKey, text)).catch(warnFailure);
  });
  // Also for a message that is too long, which closes the socket with 1009.
  socket.on('error', () => undefined);
  socket.on('close', (code) => void invoke('$disconnect', disconnectEvent(routes, opened, code)).catch(warnFailure));
}

const textOf = (data: RawData): string =>
  (Array.isArray(data) ? Buffer.concat(data) : data instanceof ArrayBuffer ? Buffer.from(data) : data).toString('utf8');

/** `$request.body.action`, where the message has one. */
function routeKeyOf(text: string): string {
  try {
    return actionShape.safeParse(JSON.parse(text)).data?.action ?? '$default';
  } catch {
    return '$default';
  }
}
