/** How long a remote server asks to wait before the next request. */
import type { JsonObject, JsonValue } from '../engine/json.ts';
import { type DurationMs, durationMs, hours } from '../engine/time.ts';

/** A longer `Retry-After` is cut to this. */
export const maxRetryAfterMs = hours(24);
/**
 * `Retry-After` (RFC 9110, 10.2.3): seconds, or an HTTP date, which is compared with the server's `Date` header.
 * Undefined when it is absent or invalid.
 */
export function retryAfter({ headers }: { readonly headers: JsonObject }): DurationMs | undefined {
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
