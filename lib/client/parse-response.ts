/** Parses a response: the declared body of the route, or an error. */
import * as z from 'zod';
import { errorResponse } from '../api/schemas/service.ts';
import * as errors from './errors.ts';
import { type Tolerant, matchesSchema, describeMismatch, tolerantSchema } from './tolerant-schema.ts';

/** An unparsed response. */
export interface RawResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** The request of a response. */
export interface RequestContext {
  readonly operationId: string;
  /** the id that was sent */
  readonly correlationId: string;
}

/** Each field is parsed separately, because a proxy can return other types: one invalid field does not discard the others. */
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

/** @throws TransportComputeClientError if the response does not match the route */
export const parseResponse = <Schema extends z.ZodType>(
  raw: RawResponse,
  schema: Schema,
  requestContext: RequestContext,
): Tolerant<z.output<Schema>> => {
  const parsed = parseJson(raw.text);
  if (matchesSchema(schema, parsed)) return parsed;
  throw unreadableResponseError(raw, requestContext, `does not match the API at ${describeMismatch(schema, parsed) ?? ''}`);
};

const unreadableResponseError = (
  raw: RawResponse,
  requestContext: RequestContext,
  detail: string,
): errors.TransportComputeClientError =>
  new errors.TransportComputeClientError({
    kind: 'response',
    status: raw.status,
    message: `${requestContext.operationId}: the response ${detail}`,
    causeBody: parseJson(raw.text) ?? raw.text,
    correlationId: raw.headers.get(correlationHeader) ?? requestContext.correlationId,
  });

/** The error for a response whose status the route does not declare. */
export const errorFromResponse = (raw: RawResponse, requestContext: RequestContext): errors.ComputeClientError => {
  const { status, headers, text } = raw;
  if (status < 400)
    return unreadableResponseError(raw, requestContext, `has the status ${status}, which this route does not return`);
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
  // A 403 of a firewall is not about the scopes of the key.
  if (status === 403 && code !== 'request_blocked') return new errors.ScopeComputeClientError({ ...errorFields, required });
  if (status === 429)
    return new errors.RateLimitedComputeClientError({ ...errorFields, retryAfterMs: readRetryAfterMs(headers) });
  if (code === 'idempotency_conflict' || code === 'idempotency_required')
    return new errors.IdempotencyComputeClientError(errorFields);
  return new errors.ComputeClientError(errorFields);
};

/** Retry-After in seconds, or as a date relative to the Date header of the same response, because clocks differ. */
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
