/** Decides whether and when a failed request is retried. */
import type { Route } from '../api/route.ts';
import type { OperationId } from '../api/routes.ts';
import { type ComputeClientError, RateLimitedComputeClientError, TransportComputeClientError } from './errors.ts';

const baseBackoffMs = 200;
const maxBackoffMs = 5_000;
/** Rate windows last one minute. For a longer Retry-After the error is returned to the caller. */
const maxRetryAfterMs = 60_000;

/** Mutations that have no effect when they are repeated. */
const idempotentOperations: readonly string[] = [
  'archiveWorkflow',
  'archiveQuery',
  'archiveLens',
  'cancelRun',
  'createDeployment',
  'verifyDeployment',
  'activateDeployment',
  'revokeKey',
  'createSchedule',
  'updateSchedule',
  'pauseSchedule',
  'resumeSchedule',
] satisfies readonly OperationId[];

/** Properties of a request that decide whether it can be repeated. */
export interface RetryCandidate {
  readonly operationId: Route['operationId'];
  readonly action?: Route['action'] | undefined;
  /** the request has an idempotency key, so repeating it has one effect */
  readonly hasIdempotencyKey: boolean;
}

/** True for reads, requests with an idempotency key and idempotent mutations. */
const isSafeToRetry = ({ action, hasIdempotencyKey, operationId }: RetryCandidate): boolean =>
  action === undefined || hasIdempotencyKey || idempotentOperations.includes(operationId);

/** Errors of a connection that was never established: no byte of the request was sent. */
const connectErrorCodes: readonly unknown[] = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN'];

const isConnectError = (error: ComputeClientError): boolean => {
  if (!(error instanceof TransportComputeClientError) || error.kind !== 'network') return false;
  // The message of fetch says only that it failed. The reason is the innermost cause.
  const { cause } = error;
  const reason = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause;
  return reason instanceof Error && 'code' in reason && connectErrorCodes.includes(reason.code);
};

const isTransient = (error: ComputeClientError): boolean =>
  error instanceof TransportComputeClientError ? error.kind !== 'response' : error.status === 429 || error.status >= 500;

/**
 * The delay before the next attempt in milliseconds; undefined: do not retry.
 * Only a 429 guarantees that a request was not processed: the gateway also returns 503 if a function fails during its
 * work. So a request that is not idempotent is retried only after a 429 or a failed connection.
 * @param previousAttempts number of attempts before this one
 */
export const waitBeforeRetry = (
  request: RetryCandidate,
  error: ComputeClientError,
  {
    previousAttempts,
    retryAfterMs = 0,
    random,
  }: { previousAttempts: number; retryAfterMs: number | undefined; random: () => number },
): number | undefined => {
  const wasNotProcessed = error instanceof RateLimitedComputeClientError || isConnectError(error);
  if (!isTransient(error) || (!wasNotProcessed && !isSafeToRetry(request)) || retryAfterMs > maxRetryAfterMs) return undefined;
  // Full jitter, also after Retry-After, so that clients that were refused together do not retry together.
  return retryAfterMs + Math.floor(random() * Math.min(maxBackoffMs, baseBackoffMs * 2 ** previousAttempts));
};
