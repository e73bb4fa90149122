/** The common shape of the HTTP functions: the router, wrapped in tracing, security headers, CORS and error handling. */
import middy, { type MiddlewareObj, type PluginExecutionMode } from '@middy/core';
import headerNormalizer from '@middy/http-header-normalizer';
import type { APIGatewayProxyEvent } from 'aws-lambda';
import type { Route } from '../../../lib/api/route.ts';
import { traceFields } from '../../../lib/engine/trace.ts';
import { Unavailable } from '../../../lib/ports/unavailable.ts';
import { asAnyOperations, type Operations, type CommonTools } from '../operation.ts';
import { cors } from './cors.ts';
import type { HttpResponse } from './http-call.ts';
import { createRouter, respond } from './router.ts';
import { traceIn, tracing } from './tracing.ts';

/** Time before the function's timeout at which middy aborts, so that the response can still be sent. */
const timeoutEarlyInMillis = 500;

export const httpFunction = <ServedBy extends Route['servedBy']>(
  tools: CommonTools,
  operations: Operations<ServedBy>,
  options: { executionMode?: PluginExecutionMode } = {},
) =>
  middy<APIGatewayProxyEvent, HttpResponse>({ timeoutEarlyInMillis, ...options })
    .use(headerNormalizer())
    .use(tracing())
    .use(securityHeaders())
    .use(cors(tools.decider.deps.settings))
    // The middleware added last handles an error first: it creates the response, and the others add their headers.
    .use(errorEnvelope(tools.logger))
    .handler(createRouter(tools, asAnyOperations(operations)));

/** Middy throws it shortly before the function's timeout. The request may have taken effect. */
const isTimeout = (error: Error): boolean => error.name === 'TimeoutError';

const errorEnvelope = (logger: CommonTools['logger']): MiddlewareObj<APIGatewayProxyEvent, HttpResponse> => ({
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

const headers = {
  'strict-transport-security': 'max-age=63072000; includeSubDomains',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cache-control': 'no-store',
} as const;

/** Default headers of every response. A route's header overrides them, such as `cache-control` of a public document. */
const securityHeaders = (): MiddlewareObj<APIGatewayProxyEvent, HttpResponse> => {
  const add = (request: { response: HttpResponse | null | undefined }): void => {
    const { response } = request;
    if (response === undefined || response === null) return;
    request.response = { ...response, headers: { ...headers, ...response.headers } };
  };
  return { after: add, onError: add };
};
