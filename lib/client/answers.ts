/** Reads what came back: the answer that the route describes, or the error that fits. */
import * as z from 'zod';
import { errorAnswer } from '../api/schemas/service.ts';
import * as errors from './errors.ts';

/** An answer as it came. */
export interface Raw {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** Which request it answers. */
export interface Asked {
  readonly operationId: string;
  /** as it was sent */
  readonly correlationId: string;
}

/** Looser than what the service says, for a proxy's own words and for codes that came later than this client. */
const spoken = z.looseObject({ ...errorAnswer.shape, code: z.string() }).partial();

export const correlationHeader = 'x-workflow-correlation-id';

/** @throws TransportComputeClientError where the answer is not what the route describes */
export const answerIn = <Schema extends z.ZodType>(raw: Raw, schema: Schema, asked: Asked): z.output<Schema> => {
  const parsed = schema.safeParse(jsonIn(raw.text));
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const place = issue === undefined ? '' : issue.path.map((step) => `/${String(step)}`).join('');
  throw unreadable(raw, asked, `does not fit at ${place === '' ? 'its root' : place}: ${issue?.message ?? ''}`);
};

const unreadable = (raw: Raw, asked: Asked, what: string): errors.TransportComputeClientError =>
  new errors.TransportComputeClientError({
    kind: 'answer',
    status: raw.status,
    message: `${asked.operationId}: the answer ${what}`,
    causeBody: jsonIn(raw.text) ?? raw.text,
    correlationId: raw.headers.get(correlationHeader) ?? asked.correlationId,
  });

/** What an answer of a status that the route does not promise comes to. */
export const refusalIn = (raw: Raw, asked: Asked): errors.ComputeClientError => {
  const { status, headers, text } = raw;
  if (status < 400) return unreadable(raw, asked, `has the status ${status}, which this route does not give`);
  const causeBody = jsonIn(text) ?? text;
  const { data: said = {} } = spoken.safeParse(causeBody);
  const { code, required } = said;
  const what = code === undefined ? String(status) : `${status} ${code}`;
  const facts = {
    status,
    code,
    causeBody,
    message: `${asked.operationId}: ${said.message ?? 'refused'} (${what})`,
    correlationId: said.correlationId ?? headers.get(correlationHeader) ?? asked.correlationId,
    errors: said.errors,
  };
  if (status === 401) return new errors.UnauthorizedComputeClientError(facts);
  // A firewall's 403 says nothing about the key.
  if (status === 403 && code !== 'request_blocked') return new errors.ScopeComputeClientError({ ...facts, required });
  if (status === 429) return new errors.RateLimitedComputeClientError({ ...facts, retryAfterMs: retryAfterMsIn(headers) });
  if (code === 'idempotency_conflict' || code === 'idempotency_required') return new errors.IdempotencyComputeClientError(facts);
  return new errors.ComputeClientError(facts);
};

/** Seconds, or a date, which is held against the date of the same answer, for clocks differ. */
export const retryAfterMsIn = (headers: Headers): number | undefined => {
  const text = headers.get('retry-after')?.trim() ?? '';
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1_000;
  const waitMs = Date.parse(text) - Date.parse(headers.get('date') ?? '');
  return Number.isNaN(waitMs) ? undefined : Math.max(0, waitMs);
};

const jsonIn = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};
