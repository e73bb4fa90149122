/**
 * CORS headers (https://fetch.spec.whatwg.org/#http-cors-protocol). They allow only origins of the setting `corsOrigins`. They never
 * allow browser credentials such as cookies: a page sends its key in a header.
 */
import type { MiddlewareObj } from '@middy/core';
import type { APIGatewayProxyEvent } from 'aws-lambda';
import type { CommonTools } from '../operation.ts';
import type { HttpResponse, RoutedResponse } from './http-call.ts';

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
