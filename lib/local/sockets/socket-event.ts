/** The events of a WebSocket API for its functions: https://docs.aws.amazon.com/apigateway/latest/developerguide/websocket-api-develop-integrations-lambda.html */
import { defined } from '../../base/defined.ts';
import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { SocketRoutes } from './socket-routes.ts';

export interface OpenedConnection {
  readonly connectionId: string;
  readonly connectedAt: number;
  readonly request: IncomingMessage;
  readonly url: URL;
}

type Event = object;

const contextOf = (
  routes: SocketRoutes,
  { connectionId, connectedAt, request, url }: OpenedConnection,
  type: string,
  routeKey: string,
) => {
  const requestId = randomUUID();
  return {
    routeKey,
    eventType: type,
    requestId,
    extendedRequestId: requestId,
    messageDirection: 'IN',
    stage: routes.stage,
    apiId: routes.apiId,
    domainName: url.host,
    connectionId,
    connectedAt,
    requestTimeEpoch: Date.now(),
    identity: {
      sourceIp: (request.socket.remoteAddress ?? '127.0.0.1').replace(/^::ffff:/, ''),
      userAgent: request.headers['user-agent'] ?? null,
    },
  };
};

export function connectEvent(routes: SocketRoutes, opened: OpenedConnection): Event {
  const { request, url } = opened;
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(request.headers)) {
    // The caller's own values of these headers are discarded.
    if (value !== undefined && !/^x-forwarded-(for|proto|port)$/.test(name))
      headers[name] = Array.isArray(value) ? value.join(', ') : value;
  }
  const query = Object.fromEntries(url.searchParams);
  return defined({
    headers: { ...headers, 'X-Forwarded-Proto': 'http', 'X-Forwarded-Port': String(request.socket.localPort ?? '') },
    queryStringParameters: Object.keys(query).length === 0 ? undefined : query,
    requestContext: contextOf(routes, opened, 'CONNECT', '$connect'),
    isBase64Encoded: false,
  });
}

export const messageEvent = (routes: SocketRoutes, opened: OpenedConnection, routeKey: string, body: string): Event => ({
  requestContext: { ...contextOf(routes, opened, 'MESSAGE', routeKey), messageId: randomUUID() },
  body,
  isBase64Encoded: false,
});

export const disconnectEvent = (routes: SocketRoutes, opened: OpenedConnection, code: number): Event => ({
  requestContext: { ...contextOf(routes, opened, 'DISCONNECT', '$disconnect'), disconnectStatusCode: code, disconnectReason: '' },
  isBase64Encoded: false,
});
