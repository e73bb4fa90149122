/** Turns answers and refusals into what the gateway sends. */
import { Readable } from 'node:stream';
import { createErrorEnvelope } from '../../../lib/api/error-body.ts';
import { type ErrorCode, errorCatalogue } from '../../../lib/api/errors.ts';
import type { AnyResponse, Refusal } from '../operation.ts';
import type { RoutedResponse } from './http-call.ts';

const jsonHeaders = { 'content-type': 'application/json; charset=utf-8' };
/** Long enough for a throttled table to recover, short enough to wait for. */
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

/** No `www-authenticate` on a 401: API Gateway renames that header of a function's answer, so that no client would find it. */
const headersOf = (code: ErrorCode): Readonly<Record<string, string>> =>
  code === 'unavailable' ? { 'retry-after': String(retryAfterSeconds) } : {};
