/** Maps an HTTP status to a failure of the node, and reads `Retry-After`. */
import type { Failure } from '../../engine/log/events.ts';
import type { JsonObject, JsonValue } from '../../engine/json.ts';
import { type DurationMs, durationMs, hours } from '../../engine/time.ts';
import type { HttpResponse } from './response.ts';

/** A longer `Retry-After` is cut to this. */
export const maxRetryAfterMs = hours(24);
/** In characters: enough to see the server's error message. */
export const maxBodyExcerpt = 2_000;

/** 429 is a rate limit; 408, 425 and 5xx are server errors; a retry of any other status would fail again. */
export const statusFailure = (answer: HttpResponse): Failure => {
  const message = `the server returned status ${answer.status}`;
  const details: JsonObject = { status: answer.status, body: excerpt(answer) };
  if (answer.status === 429) return { cause: 'rate_limit', code: 'http_status', message, details };
  const isServerError = answer.status >= 500 || answer.status === 408 || answer.status === 425;
  return { cause: isServerError ? 'provider_error' : 'invalid', code: 'http_status', message, details };
};

const excerpt = ({ body, bodyEncoding }: HttpResponse): string => {
  if (bodyEncoding === 'base64') return '(not text)';
  return (typeof body === 'string' ? body : JSON.stringify(body)).slice(0, maxBodyExcerpt);
};

/**
 * `Retry-After` (RFC 9110, 10.2.3): seconds, or an HTTP date, which is compared with the server's `Date` header.
 * Undefined when it is absent or invalid.
 */
export function retryAfter({ headers }: Pick<HttpResponse, 'headers'>): DurationMs | undefined {
  const header = headers['retry-after'];
  if (typeof header !== 'string') return undefined;
  const ms = /^\s*\d{1,9}\s*$/.test(header) ? Number(header) * 1_000 : dateOf(header) - dateOf(headers['date']);
  return Number.isNaN(ms) ? undefined : durationMs(Math.min(maxRetryAfterMs, Math.max(0, ms)));
}

const httpDate = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/** NaN for an invalid date. The pattern is needed because `Date.parse` accepts much more than HTTP dates. */
const dateOf = (header: JsonValue | undefined): number =>
  // oxlint-disable-next-line no-restricted-globals -- reads a written date, not the clock
  typeof header === 'string' && httpDate.test(header.trim()) ? Date.parse(header) : Number.NaN;
