/** What the gateway says of a socket: that it opens or closes, or what came over it. Parsed here, once. */
import * as z from 'zod';
import { connectionId } from '../../lib/codec/ids.ts';
import type { HttpCall } from '../api/pipeline/http-call.ts';

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

/** The opening of a socket is a request like any other, and is judged like one. */
export const callOf = ({ headers, queryStringParameters, requestContext }: SocketEvent): HttpCall => {
  const query = queryStringParameters ?? {};
  const lowerCaseHeaders = Object.fromEntries(Object.entries(headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]));
  return {
    method: 'GET',
    path: '/',
    // A ticket is of one run, and its opening names it.
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
