/** Errors of the client. Each has a `_tag`, because `instanceof` fails if two bundles contain the client. */

export interface ClientErrorDetail {
  /** a JSON pointer into the body, or a pointer that begins with `query/`, `path/` or `header/` */
  readonly pointer: string;
  readonly code: string;
  readonly message: string;
  /** only for findings of a definition: `error` or `warning` */
  readonly severity?: string | undefined;
}

interface ErrorFields {
  /** the HTTP status; 0 without a response */
  readonly status: number;
  readonly message: string;
  /** the error code of the API; absent if another server responded */
  readonly code?: string | undefined;
  /** the response body: parsed JSON, or text */
  readonly causeBody?: unknown;
  /** identifies the request in logs and audit: from the response, or else the id that was sent */
  readonly correlationId: string;
  readonly errors?: readonly ClientErrorDetail[] | undefined;
  readonly cause?: unknown;
}

type ErrorTag =
  | 'ComputeClientError'
  | 'UnauthorizedComputeClientError'
  | 'ScopeComputeClientError'
  | 'IdempotencyComputeClientError'
  | 'RateLimitedComputeClientError'
  | 'TransportComputeClientError';

/** Base class of all client errors, and the class of responses without their own class, such as 404 `not_found`. */
export class ComputeClientError extends Error {
  readonly _tag: ErrorTag = 'ComputeClientError';
  readonly status: number;
  readonly code: string | undefined;
  readonly causeBody: unknown;
  readonly correlationId: string;
  readonly errors: readonly ClientErrorDetail[] | undefined;

  constructor({ status, message, code, causeBody, correlationId, errors, cause }: ErrorFields) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = new.target.name;
    this.status = status;
    this.code = code;
    this.causeBody = causeBody;
    this.correlationId = correlationId;
    this.errors = errors;
  }
}

/** 401: the key is missing, unknown, expired or revoked. */
export class UnauthorizedComputeClientError extends ComputeClientError {
  override readonly _tag = 'UnauthorizedComputeClientError';
}

/** 403: the key lacks the scope `required`. */
export class ScopeComputeClientError extends ComputeClientError {
  override readonly _tag = 'ScopeComputeClientError';
  readonly required: string | undefined;

  constructor(fields: ErrorFields & { readonly required: string | undefined }) {
    super(fields);
    this.required = fields.required;
  }
}

/** 409 `idempotency_conflict`: the key was used with another body. 400 `idempotency_required`: the key is missing. */
export class IdempotencyComputeClientError extends ComputeClientError {
  override readonly _tag = 'IdempotencyComputeClientError';
}

/** 429 after the last attempt: the request was not processed. */
export class RateLimitedComputeClientError extends ComputeClientError {
  override readonly _tag = 'RateLimitedComputeClientError';
  /** how long to wait before a retry; undefined if the response does not say */
  readonly retryAfterMs: number | undefined;

  constructor(fields: ErrorFields & { readonly retryAfterMs: number | undefined }) {
    super(fields);
    this.retryAfterMs = fields.retryAfterMs;
  }
}

/** No response, or one that does not match the API. It is unknown whether the request was processed. */
export class TransportComputeClientError extends ComputeClientError {
  override readonly _tag = 'TransportComputeClientError';
  /** `response`: the response does not match the API; the message contains the pointer */
  readonly kind: 'network' | 'timeout' | 'response';

  constructor(fields: ErrorFields & { readonly kind: 'network' | 'timeout' | 'response' }) {
    super(fields);
    this.kind = fields.kind;
  }
}
