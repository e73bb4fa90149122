/**
 * What a browser must be told before it shows an answer to a page of another origin (https://fetch.spec.whatwg.org/#http-cors-protocol).
 * Only an origin of the setting `corsOrigins` is named, and credentials of the browser's own, such as cookies, never are allowed: a
 * page sends its key itself.
 */
import type { MiddlewareObj } from '@middy/core';
import type { APIGatewayProxyEvent } from 'aws-lambda';
import type { Tools } from '../tools.ts';
import type { HttpResponse, RoutedResponse } from './http-call.ts';

/** Of requests, beside those that need no leave. */
const requestHeaders = 'authorization,content-type,idempotency-key,last-event-id,traceparent,x-workflow-correlation-id';
/** Of answers, beside those that a page may read anyway. A test finds a header of an answer that is not here. */
export const exposedHeaders =
  'idempotency-replayed,location,ratelimit,ratelimit-policy,retry-after,traceparent,x-amzn-requestid,x-workflow-correlation-id';
/** Seconds for which a browser need not ask again: Chromium keeps an answer for no longer. */
const maxAge = '7200';

/** The answer to a browser that asks before it sends a request with a key: what may be sent. Who may is said by the middleware. */
export const preflight = (methods: readonly string[]): RoutedResponse => ({
  statusCode: 204,
  headers: {
    'access-control-allow-methods': methods.join(),
    'access-control-allow-headers': requestHeaders,
    'access-control-max-age': maxAge,
  },
  body: '',
});

export const isPreflight = ({ decider: { deps } }: Tools, { httpMethod, headers }: APIGatewayProxyEvent): boolean =>
  httpMethod === 'OPTIONS' &&
  headers['access-control-request-method'] !== undefined &&
  deps.settings.corsOrigins?.includes(headers['origin'] ?? '') === true;

export const cors = (settings: Tools['decider']['deps']['settings']): MiddlewareObj<APIGatewayProxyEvent, HttpResponse> => {
  const allow = (request: { event: APIGatewayProxyEvent; response: HttpResponse | null | undefined }): void => {
    const { event, response } = request;
    // Read at each request: no setting is read before it is used.
    const { corsOrigins: origins = [] } = settings;
    if (response === undefined || response === null || origins.length === 0) return;
    const { origin = '' } = event.headers;
    // A route's own word, for any page that has a ticket, no longer counts.
    const { 'access-control-allow-origin': _forAny, ...headers } = response.headers;
    const allowed = origins.includes(origin)
      ? { 'access-control-allow-origin': origin, 'access-control-expose-headers': exposedHeaders }
      : {};
    // A cache must not hand what one page may read to another.
    request.response = { ...response, headers: { ...headers, vary: 'Origin', ...allowed } };
  };
  return { after: allow, onError: allow };
};
