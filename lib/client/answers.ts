/** Reads what came back: the answer that the route describes, or the error that fits. */
import * as z from 'zod';
import { errorAnswer } from '../api/schemas/service.ts';
import * as errors from './errors.ts';
import { type Open, fits, misfitIn, opened } from './open-shape.ts';

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

/** Each by itself, for a proxy has words of its own: what is no text where a text should be takes no other field along. */
const text = z.string().optional().catch(undefined);
const { errors: errorList } = errorAnswer.shape;
const spoken = z.looseObject({
  code: text,
  message: text,
  required: text,
  correlationId: text,
  errors: z
    .custom<Open<z.output<typeof errorList>>>((value) => opened(errorList).safeParse(value).success)
    .optional()
    .catch(undefined),
});

export const correlationHeader = 'x-workflow-correlation-id';

/** @throws TransportComputeClientError where the answer is not what the route describes */
export const answerIn = <Schema extends z.ZodType>(raw: Raw, schema: Schema, asked: Asked): Open<z.output<Schema>> => {
  const answer = jsonIn(raw.text);
  if (fits(schema, answer)) return answer;
  throw unreadable(raw, asked, `does not fit at ${misfitIn(schema, answer) ?? ''}`);
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
  const said = spoken.safeParse(causeBody).data ?? {};
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
