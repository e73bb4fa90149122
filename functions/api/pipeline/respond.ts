/** Turns answers and refusals into what the gateway sends. */
import { Readable } from 'node:stream';
import { envelope } from '../../../lib/api/error-body.ts';
import { type ErrorCode, errorCatalogue } from '../../../lib/api/errors.ts';
import type { AnyAnswer, Refusal } from '../operation.ts';
import type { RoutedAnswer } from './http-call.ts';

const json = { 'content-type': 'application/json; charset=utf-8' };
/** Long enough for a throttled table to recover, short enough to wait for. */
const retryAfterSeconds = 2;

export const respond = (answer: AnyAnswer, correlationId: string): RoutedAnswer => {
  if ('refused' in answer) return refusal(answer, correlationId);
  const statusCode = Number(answer.status);
  if ('stream' in answer) {
    const stream = answer.stream === undefined ? {} : { stream: Readable.from(answer.stream) };
    return { statusCode, headers: answer.headers ?? {}, body: '', ...stream };
  }
  return { statusCode, headers: { ...json, ...answer.headers }, body: JSON.stringify(answer.body) };
};

const refusal = ({ refused, details, headers }: Refusal, correlationId: string): RoutedAnswer => ({
  statusCode: errorCatalogue[refused].status,
  headers: { ...json, ...headersOf(refused), ...headers },
  body: JSON.stringify(envelope(refused, correlationId, details)),
});

/** No `www-authenticate` on a 401: API Gateway renames that header of a function's answer, so that no client would find it. */
const headersOf = (code: ErrorCode): Readonly<Record<string, string>> =>
  code === 'unavailable' ? { 'retry-after': String(retryAfterSeconds) } : {};
