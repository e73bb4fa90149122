/** Whether a request that went wrong is sent again, and when. */
import type { Route } from '../api/route.ts';
import type { OperationId } from '../api/routes.ts';
import { type ComputeClientError, RateLimitedComputeClientError, TransportComputeClientError } from './errors.ts';

const baseBackoffMs = 200;
const maxBackoffMs = 5_000;
/** The service counts a key's requests by the minute: whoever asks for more patience than that is told to the caller instead. */
const maxRetryAfterMs = 60_000;

/** Mutations that change nothing when they are done once more. */
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

/** What says whether a request may be repeated. */
export interface RetryCandidate {
  readonly operationId: Route['operationId'];
  readonly action?: Route['action'] | undefined;
  /** it carries an idempotency key, so that two of it are one */
  readonly hasIdempotencyKey: boolean;
}

/** Sent twice, has the effect of once: it reads, or its idempotency key or its nature keeps it to one. */
const isSafeToRetry = ({ action, hasIdempotencyKey, operationId }: RetryCandidate): boolean =>
  action === undefined || hasIdempotencyKey || idempotentOperations.includes(operationId);

/** Nobody listens there, or there is no such name: not a byte of the request has left. */
const connectErrorCodes: readonly unknown[] = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN'];

const isConnectError = (error: ComputeClientError): boolean => {
  if (!(error instanceof TransportComputeClientError) || error.kind !== 'network') return false;
  // fetch says only that it failed; what failed is its cause.
  const { cause } = error;
  const reason = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause;
  return reason instanceof Error && 'code' in reason && connectErrorCodes.includes(reason.code);
};

const isTransient = (error: ComputeClientError): boolean =>
  error instanceof TransportComputeClientError ? error.kind !== 'response' : error.status === 429 || error.status >= 500;

/**
 * The wait before the next try in milliseconds; undefined where there is to be none.
 * Anything but a 429 may have been carried out, a 503 too: the gateway says so when a function broke in the middle of its
 * work. So what is not repeatable is sent again only after a 429, or where no connection came about.
 * @param previousAttempts tries that have been made, this one not counted
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
  // Full jitter, also behind a Retry-After: else all who were refused together come back together.
  return retryAfterMs + Math.floor(random() * Math.min(maxBackoffMs, baseBackoffMs * 2 ** previousAttempts));
};
