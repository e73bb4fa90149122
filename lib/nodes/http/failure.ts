/** What an answer's status means for the node, and for whether it is worth another attempt. */
import type { Failure } from '../../engine/log/events.ts';
import type { JsonObject, JsonValue } from '../../engine/json.ts';
import { type DurationMs, durationMs, hours } from '../../engine/time.ts';
import type { HttpResponse } from './response.ts';

/** No longer than a run's author would look for it. */
const maxRetryAfterMs = hours(24);
/** In characters: enough to see what the other side complains about. */
const maxBodyExcerpt = 2_000;

/** 429 is a request to wait; 408, 425 and 5xx are the other side's trouble; any other status would be the same again. */
export const statusFailure = (answer: HttpResponse): Failure => {
  const message = `the other side answered with status ${answer.status}`;
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
 * `Retry-After` (RFC 9110, 10.2.3): seconds, or an HTTP date, which is measured against the other side's own clock.
 * Undefined where there is none that can be read.
 */
export function retryAfter({ headers }: Pick<HttpResponse, 'headers'>): DurationMs | undefined {
  const header = headers['retry-after'];
  if (typeof header !== 'string') return undefined;
  const ms = /^\s*\d{1,9}\s*$/.test(header) ? Number(header) * 1_000 : dateOf(header) - dateOf(headers['date']);
  return Number.isNaN(ms) ? undefined : durationMs(Math.min(maxRetryAfterMs, Math.max(0, ms)));
}

const httpDate = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/** NaN where it is none: what JavaScript reads as a date is far more than a date. */
const dateOf = (header: JsonValue | undefined): number =>
  // oxlint-disable-next-line no-restricted-globals -- reads a written date, not the clock
  typeof header === 'string' && httpDate.test(header.trim()) ? Date.parse(header) : Number.NaN;
