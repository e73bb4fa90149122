/** Gives each request a correlation id and a trace. The response, logs, runs and audit entries of the request carry them. */
import { randomBytes, randomUUID } from 'node:crypto';
import type { MiddlewareObj } from '@middy/core';
import type { APIGatewayProxyEvent } from 'aws-lambda';
import { type CorrelationId, correlationId, correlationIdPattern } from '../../../lib/engine/ids.ts';
import { type Trace, readTraceparent, spanIdOf, traceIdOf, traceparent, withSpan } from '../../../lib/engine/trace.ts';
import { requestSpanId } from '../../../lib/service/runs/span-ids.ts';
import type { HttpResponse } from './http-call.ts';

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

/** Sets both as headers of the request, where later middleware reads them, and of the response. */
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
