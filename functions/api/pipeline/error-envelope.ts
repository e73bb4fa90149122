/** What was thrown is never the caller's: temporary trouble of the world, or our own bug. It is logged, not told. */
import type { MiddlewareObj } from '@middy/core';
import type { APIGatewayProxyEvent } from 'aws-lambda';
import { traceFields } from '../../../lib/engine/trace.ts';
import { Unavailable } from '../../../lib/ports/unavailable.ts';
import type { Tools } from '../tools.ts';
import type { HttpResponse } from './http-call.ts';
import { respond } from './respond.ts';
import { traceIn } from './tracing.ts';

/** Middy throws this shortly before the function's own time is up; what was begun may still have been done. */
const isTimeout = (error: Error): boolean => error.name === 'TimeoutError';

export const errorEnvelope = (logger: Tools['logger']): MiddlewareObj<APIGatewayProxyEvent, HttpResponse> => ({
  onError: (request) => {
    const { event, error } = request;
    const trace = traceIn(event);
    const thrown = error ?? new Error('an unknown error');
    const isTemporary = thrown instanceof Unavailable || isTimeout(thrown);
    const facts = { ...traceFields(trace), method: event.httpMethod, path: event.path, error: thrown };
    if (isTemporary) logger.warn('temporarily unavailable', facts);
    else logger.error('a request failed', facts);
    request.response = respond({ refused: isTemporary ? 'unavailable' : 'internal' }, trace.correlationId);
  },
});
