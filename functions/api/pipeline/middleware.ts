/**
 * The middleware of the HTTP functions: correlation and traces, CORS, security headers, and the response to an error.
 * CORS headers (https://fetch.spec.whatwg.org/#http-cors-protocol) allow only origins of the setting `corsOrigins`. They never
 * allow browser credentials such as cookies: a page sends its key in a header.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import type { MiddlewareObj } from '@middy/core';
import type { APIGatewayProxyEvent } from 'aws-lambda';
import { type CorrelationId, correlationId, correlationIdPattern } from '../../../lib/engine/ids.ts';
import {
  type Trace,
  readTraceparent,
  spanIdOf,
  traceFields,
  traceIdOf,
  traceparent,
  withSpan,
} from '../../../lib/engine/trace.ts';
import { Unavailable } from '../../../lib/ports/unavailable.ts';
import { requestSpanId } from '../../../lib/service/runs/span-ids.ts';
import type { CommonTools } from '../operation.ts';
import { type HttpResponse, respond, type RoutedResponse } from './http-call.ts';

const correlationHeader = 'x-workflow-correlation-id';
const traceHeader = 'traceparent';
const headerNames = [correlationHeader, traceHeader] as const;

/** The caller's id if it is valid. An invalid id is replaced and never echoed. */
const correlationOf = (headerValue: string | undefined): CorrelationId =>
  correlationId(headerValue !== undefined && correlationIdPattern.test(headerValue) ? headerValue : randomUUID());

/** The caller's trace with a span of this request, or a new unsampled trace. */
const traceOf = (headerValue: string | undefined, correlation: CorrelationId): string => {
  const parent = headerValue === undefined ? undefined : readTraceparent(headerValue);
  if (parent !== undefined) return withSpan(parent, requestSpanId(traceIdOf(parent), correlation, spanIdOf(parent)));
  const traceId = randomBytes(16).toString('hex');
  return `00-${traceId}-${requestSpanId(traceId, correlation)}-00`;
};

/**
 * Gives each request a correlation id and a trace. The response, logs, runs and audit entries of the request carry them. Sets both as
 * headers of the request, where later middleware reads them, and of the response.
 */
export const tracing = (): MiddlewareObj<APIGatewayProxyEvent, HttpResponse> => {
  const addResponseHeaders = (request: { event: APIGatewayProxyEvent; response: HttpResponse | null | undefined }): void => {
    const { event, response } = request;
    if (response === undefined || response === null) return;
    const presentHeaders = headerNames.flatMap((name) => {
      const value = event.headers[name];
      return value === undefined ? [] : [[name, value] as const];
    });
    request.response = { ...response, headers: { ...response.headers, ...Object.fromEntries(presentHeaders) } };
  };
  return {
    before: ({ event }) => {
      // The gateway sends null instead of an empty object.
      event.headers ??= {};
      const correlation = correlationOf(event.headers[correlationHeader]);
      event.headers[correlationHeader] = correlation;
      event.headers[traceHeader] = traceOf(event.headers[traceHeader], correlation);
    },
    after: addResponseHeaders,
    onError: addResponseHeaders,
  };
};

/** The trace of a request that this middleware has processed. */
export const traceIn = ({ headers }: Pick<APIGatewayProxyEvent, 'headers'>): Trace => ({
  correlationId: correlationId(headers[correlationHeader] ?? ''),
  traceparent: traceparent(headers[traceHeader] ?? ''),
});

/** Allowed request headers, besides the safelisted ones. */
const requestHeaders = 'authorization,content-type,idempotency-key,last-event-id,traceparent,x-workflow-correlation-id';
/** Exposed response headers, besides the safelisted ones. A test finds response headers that are missing here. */
export const exposedHeaders =
  'idempotency-replayed,location,ratelimit,ratelimit-policy,retry-after,traceparent,x-amzn-requestid,x-workflow-correlation-id';
/** Seconds that a browser may cache a preflight response. Chromium's maximum. */
const maxAge = '7200';

/** The response to a preflight request: the allowed methods and headers. The middleware adds the allowed origin. */
export const preflight = (methods: readonly string[]): RoutedResponse => ({
  statusCode: 204,
  headers: {
    'access-control-allow-methods': methods.join(),
    'access-control-allow-headers': requestHeaders,
    'access-control-max-age': maxAge,
  },
  body: '',
});

export const isPreflight = ({ decider: { deps } }: CommonTools, { httpMethod, headers }: APIGatewayProxyEvent): boolean =>
  httpMethod === 'OPTIONS' &&
  headers['access-control-request-method'] !== undefined &&
  deps.settings.corsOrigins?.includes(headers['origin'] ?? '') === true;

export const cors = (settings: CommonTools['decider']['deps']['settings']): MiddlewareObj<APIGatewayProxyEvent, HttpResponse> => {
  const allow = (request: { event: APIGatewayProxyEvent; response: HttpResponse | null | undefined }): void => {
    const { event, response } = request;
    // Read for each request, so that a cold start reads no setting before it is used.
    const { corsOrigins: origins = [] } = settings;
    if (response === undefined || response === null || origins.length === 0) return;
    const { origin = '' } = event.headers;
    // The setting replaces the wildcard that a route allows for pages with a ticket.
    const { 'access-control-allow-origin': _forAny, ...headers } = response.headers;
    const allowed = origins.includes(origin)
      ? { 'access-control-allow-origin': origin, 'access-control-expose-headers': exposedHeaders }
      : {};
    // A cache must not serve one origin's response to another origin.
    request.response = { ...response, headers: { ...headers, vary: 'Origin', ...allowed } };
  };
  return { after: allow, onError: allow };
};

/** Middy throws it shortly before the function's timeout. The request may have taken effect. */
const isTimeout = (error: Error): boolean => error.name === 'TimeoutError';

export const errorEnvelope = (logger: CommonTools['logger']): MiddlewareObj<APIGatewayProxyEvent, HttpResponse> => ({
  onError: (request) => {
    const { event, error } = request;
    const trace = traceIn(event);
    const thrown = error ?? new Error('middy reported an error without a value');
    const isTemporary = thrown instanceof Unavailable || isTimeout(thrown);
    const facts = { ...traceFields(trace), method: event.httpMethod, path: event.path, error: thrown };
    if (isTemporary) logger.warn('temporarily unavailable', facts);
    else logger.error('request failed', facts);
    request.response = respond({ refused: isTemporary ? 'unavailable' : 'internal' }, trace.correlationId);
  },
});

const defaultHeaders = {
  'strict-transport-security': 'max-age=63072000; includeSubDomains',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cache-control': 'no-store',
} as const;

/** Default headers of every response. A route's header overrides them, such as `cache-control` of a public document. */
export const securityHeaders = (): MiddlewareObj<APIGatewayProxyEvent, HttpResponse> => {
  const add = (request: { response: HttpResponse | null | undefined }): void => {
    const { response } = request;
    if (response === undefined || response === null) return;
    request.response = { ...response, headers: { ...defaultHeaders, ...response.headers } };
  };
  return { after: add, onError: add };
};
