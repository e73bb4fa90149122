/** The parts of a gateway request that the product uses, and how a response or a refusal becomes an HTTP response. */
import { Readable } from 'node:stream';
import type { APIGatewayProxyEvent } from 'aws-lambda';
import { createErrorEnvelope, errorCatalogue, type ErrorCode } from '../../../lib/api/errors.ts';
import type { CookieRequest } from '../../../lib/api/session-cookie.ts';
import type { AnyResponse, Refusal } from '../operation.ts';

export interface HttpCall {
  readonly method: string;
  readonly path: string;
  readonly params: Readonly<Record<string, string | undefined>>;
  readonly query: Readonly<Record<string, string | undefined>>;
  /** names in lower case */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** the body as text; undefined if empty */
  readonly body: string | undefined;
  /** the body as bytes; may be empty */
  readonly bytes: () => Uint8Array;
  /** from the gateway's connection, never from a header that the caller can set */
  readonly ip: string | undefined;
  readonly userAgent: string | undefined;
}

export interface HttpResponse {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string>>;
  /** a stream only from the events function, whose responses the gateway streams */
  readonly body: string | Readable;
}

/** The response of a route. The router supports text bodies only. */
export interface RoutedResponse extends HttpResponse {
  readonly body: string;
  /** replaces the body */
  readonly stream?: Readable;
}

/** The gateway overwrites this header, so the value `https` is proof. A list of values does not come from the gateway. */
export const isProvenHttps = ({ headers }: Pick<HttpCall, 'headers'>): boolean => headers['x-forwarded-proto'] === 'https';

/** For a handler, whose request has headers only. */
export const cookieRequestOf = (call: Pick<HttpCall, 'headers'>): CookieRequest => ({
  headers: call.headers,
  isHttps: isProvenHttps(call),
});

/** Converts an event that the header normalizer and the router have processed. */
export const callOf = (event: APIGatewayProxyEvent): HttpCall => ({
  method: event.httpMethod,
  path: event.path,
  params: event.pathParameters ?? {},
  query: event.queryStringParameters ?? {},
  headers: event.headers,
  body: bodyOf(event),
  bytes: () => Buffer.from(event.body ?? '', event.isBase64Encoded ? 'base64' : 'utf8'),
  ip: event.requestContext.identity.sourceIp,
  userAgent: event.headers['user-agent'],
});

const bodyOf = ({ body, isBase64Encoded }: APIGatewayProxyEvent): string | undefined => {
  if (body === null || body === '') return undefined;
  return isBase64Encoded ? Buffer.from(body, 'base64').toString('utf8') : body;
};

const jsonHeaders = { 'content-type': 'application/json; charset=utf-8' };
/** Long enough for a throttled table to recover, short enough for a client to wait. */
const retryAfterSeconds = 2;

export const respond = (response: AnyResponse, correlationId: string): RoutedResponse => {
  if ('refused' in response) return refusalResponse(response, correlationId);
  const statusCode = Number(response.status);
  if ('stream' in response) {
    const stream = response.stream === undefined ? {} : { stream: Readable.from(response.stream) };
    return { statusCode, headers: response.headers ?? {}, body: '', ...stream };
  }
  return { statusCode, headers: { ...jsonHeaders, ...response.headers }, body: JSON.stringify(response.body) };
};

const refusalResponse = ({ refused, details, headers }: Refusal, correlationId: string): RoutedResponse => ({
  statusCode: errorCatalogue[refused].status,
  headers: { ...jsonHeaders, ...headersOf(refused), ...headers },
  body: JSON.stringify(createErrorEnvelope(refused, correlationId, details)),
});

/** No `www-authenticate` with a 401: API Gateway renames that header of a function's response, so clients would not find it. */
const headersOf = (code: ErrorCode): Readonly<Record<string, string>> =>
  code === 'unavailable' ? { 'retry-after': String(retryAfterSeconds) } : {};
