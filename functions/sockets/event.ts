/** WebSocket events of the gateway (connect, disconnect, message), parsed, and the dependencies of their handlers. */
import { randomBytes } from 'node:crypto';
import * as z from 'zod';
import { connectionId } from '../../lib/codec/ids.ts';
import { correlationId } from '../../lib/engine/ids.ts';
import { type Trace, traceparent } from '../../lib/engine/trace.ts';
import type { Sockets, Watches } from '../../lib/ports/sockets.ts';
import type { HttpCall } from '../api/pipeline/http-call.ts';
import type { Tools } from '../api/operation.ts';

const stringMap = z.record(z.string(), z.string()).nullish();

const shape = z.object({
  requestContext: z.object({
    eventType: z.enum(['CONNECT', 'DISCONNECT', 'MESSAGE']),
    connectionId,
    requestId: z.string(),
    identity: z.object({ sourceIp: z.string().exactOptional(), userAgent: z.string().nullish() }).exactOptional(),
  }),
  headers: stringMap,
  queryStringParameters: stringMap,
  body: z.string().nullish(),
  isBase64Encoded: z.boolean().nullish(),
});

export type SocketEvent = z.infer<typeof shape>;

export const readSocketEvent = (event: unknown): SocketEvent => shape.parse(event);

/** Opening a socket is an HTTP request and passes the same checks. */
export const callOf = ({ headers, queryStringParameters, requestContext }: SocketEvent): HttpCall => {
  const query = queryStringParameters ?? {};
  const lowerCaseHeaders = Object.fromEntries(Object.entries(headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]));
  return {
    method: 'GET',
    path: '/',
    // A ticket is valid for one run. The client names the run in the query.
    params: { runId: query['runId'] },
    query,
    headers: lowerCaseHeaders,
    body: undefined,
    bytes: () => new Uint8Array(),
    ip: requestContext.identity?.sourceIp,
    userAgent: lowerCaseHeaders['user-agent'],
  };
};

export const textOf = ({ body, isBase64Encoded }: SocketEvent): string =>
  isBase64Encoded === true ? Buffer.from(body ?? '', 'base64').toString('utf8') : (body ?? '');

export interface SocketTools extends Pick<Tools, 'decider' | 'authenticator' | 'rates' | 'failures' | 'logger'> {
  readonly sockets: Sockets;
  readonly watches: Watches;
}

const hex = (bytes: number): string => randomBytes(bytes).toString('hex');

/** The correlation id of errors and logs is the gateway's request id, which its access log has too. */
export const traceOf = ({ requestContext: { requestId } }: SocketEvent): Trace => ({
  correlationId: correlationId(requestId),
  traceparent: traceparent(`00-${hex(16)}-${hex(8)}-00`),
});
