/** What a call can come to besides its answer. Each error has a `_tag`, so that copies from two bundles are told apart too. */

export interface ClientErrorDetail {
  /** a JSON pointer into the body; others begin with `query/`, `path/` or `header/` */
  readonly pointer: string;
  readonly code: string;
  readonly message: string;
  /** of a definition's findings: `error`, `warning` */
  readonly severity?: string | undefined;
}

interface ErrorFields {
  /** of HTTP; 0 where no answer came */
  readonly status: number;
  readonly message: string;
  /** the service's code, from its catalogue; absent where something else answered */
  readonly code?: string | undefined;
  /** what was answered: parsed JSON, else text */
  readonly causeBody?: unknown;
  /** the request's trace through logs and audit: the service's word, else what was sent */
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

/** Every error of the client is one; by itself it is an answer that no other class is for, such as 404 `not_found`. */
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

/** 409 `idempotency_conflict`: the key was used with another body. 400 `idempotency_required`: there was none. */
export class IdempotencyComputeClientError extends ComputeClientError {
  override readonly _tag = 'IdempotencyComputeClientError';
}

/** 429, after the last try: nothing was done. */
export class RateLimitedComputeClientError extends ComputeClientError {
  override readonly _tag = 'RateLimitedComputeClientError';
  /** how long the service asks to wait; undefined where it does not say */
  readonly retryAfterMs: number | undefined;

  constructor(fields: ErrorFields & { readonly retryAfterMs: number | undefined }) {
    super(fields);
    this.retryAfterMs = fields.retryAfterMs;
  }
}

/** No answer, or one that cannot be read. Whether the request was carried out is not known. */
export class TransportComputeClientError extends ComputeClientError {
  override readonly _tag = 'TransportComputeClientError';
  /** `answer`: the service answered with something that its own description does not know; the message names the place */
  readonly kind: 'network' | 'timeout' | 'response';

  constructor(fields: ErrorFields & { readonly kind: 'network' | 'timeout' | 'response' }) {
    super(fields);
    this.kind = fields.kind;
  }
}
