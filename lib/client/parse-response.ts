/** Reads what came back: the answer that the route describes, or the error that fits. */
import * as z from 'zod';
import { errorResponse } from '../api/schemas/service.ts';
import * as errors from './errors.ts';
import { type Tolerant, matchesSchema, describeMismatch, tolerantSchema } from './tolerant-schema.ts';

/** An answer as it came. */
export interface RawResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** Which request it answers. */
export interface RequestContext {
  readonly operationId: string;
  /** as it was sent */
  readonly correlationId: string;
}

/** Each by itself, for a proxy has words of its own: what is no text where a text should be takes no other field along. */
const text = z.string().optional().catch(undefined);
const { errors: errorDetailsSchema } = errorResponse.shape;
const errorBodySchema = z.looseObject({
  code: text,
  message: text,
  required: text,
  correlationId: text,
  errors: z
    .custom<Tolerant<z.output<typeof errorDetailsSchema>>>((value) => tolerantSchema(errorDetailsSchema).safeParse(value).success)
    .optional()
    .catch(undefined),
});

export const correlationHeader = 'x-workflow-correlation-id';

/** @throws TransportComputeClientError where the answer is not what the route describes */
export const parseResponse = <Schema extends z.ZodType>(
  raw: RawResponse,
  schema: Schema,
  requestContext: RequestContext,
): Tolerant<z.output<Schema>> => {
  const parsed = parseJson(raw.text);
  if (matchesSchema(schema, parsed)) return parsed;
  throw unreadableResponseError(raw, requestContext, `does not fit at ${describeMismatch(schema, parsed) ?? ''}`);
};

const unreadableResponseError = (
  raw: RawResponse,
  requestContext: RequestContext,
  detail: string,
): errors.TransportComputeClientError =>
  new errors.TransportComputeClientError({
    kind: 'response',
    status: raw.status,
    message: `${requestContext.operationId}: the answer ${detail}`,
    causeBody: parseJson(raw.text) ?? raw.text,
    correlationId: raw.headers.get(correlationHeader) ?? requestContext.correlationId,
  });

/** What an answer of a status that the route does not promise comes to. */
export const errorFromResponse = (raw: RawResponse, requestContext: RequestContext): errors.ComputeClientError => {
  const { status, headers, text } = raw;
  if (status < 400)
    return unreadableResponseError(raw, requestContext, `has the status ${status}, which this route does not give`);
  const causeBody = parseJson(text) ?? text;
  const errorBody = errorBodySchema.safeParse(causeBody).data ?? {};
  const { code, required } = errorBody;
  const detail = code === undefined ? String(status) : `${status} ${code}`;
  const errorFields = {
    status,
    code,
    causeBody,
    message: `${requestContext.operationId}: ${errorBody.message ?? 'refused'} (${detail})`,
    correlationId: errorBody.correlationId ?? headers.get(correlationHeader) ?? requestContext.correlationId,
    errors: errorBody.errors,
  };
  if (status === 401) return new errors.UnauthorizedComputeClientError(errorFields);
  // A firewall's 403 says nothing about the key.
  if (status === 403 && code !== 'request_blocked') return new errors.ScopeComputeClientError({ ...errorFields, required });
  if (status === 429)
    return new errors.RateLimitedComputeClientError({ ...errorFields, retryAfterMs: readRetryAfterMs(headers) });
  if (code === 'idempotency_conflict' || code === 'idempotency_required')
    return new errors.IdempotencyComputeClientError(errorFields);
  return new errors.ComputeClientError(errorFields);
};

/** Seconds, or a date, which is held against the date of the same answer, for clocks differ. */
export const readRetryAfterMs = (headers: Headers): number | undefined => {
  const text = headers.get('retry-after')?.trim() ?? '';
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1_000;
  const waitMs = Date.parse(text) - Date.parse(headers.get('date') ?? '');
  return Number.isNaN(waitMs) ? undefined : Math.max(0, waitMs);
};

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};
