/** Turns answers and refusals into what the gateway sends. */
import { type ErrorCode, envelope, errorCatalogue } from '../../../lib/api/errors.ts';
import type { AnyAnswer, Refusal } from '../operation.ts';
import type { HttpAnswer } from './http-call.ts';

const json = { 'content-type': 'application/json; charset=utf-8' };
/** Long enough for a throttled table to recover, short enough to wait for. */
const retryAfterSeconds = 2;

export const respond = (answer: AnyAnswer, correlationId: string): HttpAnswer =>
  'refused' in answer
    ? refusal(answer, correlationId)
    : {
        statusCode: Number(answer.status),
        headers: { ...json, ...answer.headers },
        body: JSON.stringify(answer.body),
      };

const refusal = ({ refused, details, headers }: Refusal, correlationId: string): HttpAnswer => ({
  statusCode: errorCatalogue[refused].status,
  headers: { ...json, ...headersOf(refused), ...headers },
  body: JSON.stringify(envelope(refused, correlationId, details)),
});

const headersOf = (code: ErrorCode): Readonly<Record<string, string>> => {
  switch (code) {
    case 'unauthorized':
      return { 'www-authenticate': 'Bearer' };
    case 'unavailable':
      return { 'retry-after': String(retryAfterSeconds) };
    default:
      return {};
  }
};
