/** Retries failed requests, where repeating them is safe. */
import type { Route } from '../api/route.ts';
import type { OperationId } from '../api/routes.ts';
import { type RetryLimits, retryOutcome } from '../base/retry.ts';
import { type ComputeClientError, RateLimitedComputeClientError, TransportComputeClientError } from './errors.ts';
import type { ClientConfig } from './options.ts';
import { abortableSleep } from './with-timeout.ts';

/** Rate windows last one minute. For a longer Retry-After the error is returned to the caller. */
const maxRetryAfterMs = 60_000;

/** Mutations that have no effect when they are repeated. */
const idempotentOperations: readonly string[] = [
  'archiveWorkflow',
  'archiveQuery',
  'archiveLens',
  'startRunBatch',
  'cancelRun',
  'createDeployment',
  'verifyDeployment',
  'activateDeployment',
  'deactivateDeployment',
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

/** An attempt without the response that the caller needs. */
export interface FailedAttempt {
  readonly error: ComputeClientError;
  /** requested by the service */
  readonly retryAfterMs: number | undefined;
}

/** Full jitter, also after Retry-After, so that clients that were refused together do not retry together. */
export const retryLimits = ({ retries }: Pick<ClientConfig, 'retries'>): RetryLimits => ({
  attempts: retries + 1,
  backoff: { baseMs: 200, maxMs: 5_000, jitter: 1 },
});

/**
 * Whether the failed request is repeated. Only a 429 guarantees that a request was not processed: the gateway also returns 503 if a
 * function fails during its work. So a request that is not idempotent is retried only after a 429 or a failed connection.
 */
export const isRetryable = (request: RetryCandidate, { error, retryAfterMs = 0 }: FailedAttempt): boolean => {
  const wasNotProcessed = error instanceof RateLimitedComputeClientError || isConnectError(error);
  return isTransient(error) && (wasNotProcessed || isSafeToRetry(request)) && retryAfterMs <= maxRetryAfterMs;
};

/**
 * Repeats the attempt while the policy allows it.
 * @throws the error of the last attempt, or the reason of the caller's signal
 */
export async function sendWithRetry<Sent extends object>(
  config: Pick<ClientConfig, 'retries' | 'random' | 'sleep'>,
  request: RetryCandidate,
  signal: AbortSignal | undefined,
  attempt: () => Promise<Sent | FailedAttempt>,
): Promise<Sent> {
  const outcome = await retryOutcome(
    attempt,
    {
      ...retryLimits(config),
      isRetryable: (each) => 'error' in each && isRetryable(request, each),
      requestedDelayMs: (each) => ('error' in each ? each.retryAfterMs : undefined),
    },
    { sleep: (ms) => abortableSleep(config.sleep, ms, signal), random: config.random },
  );
  if ('error' in outcome) throw outcome.error;
  return outcome;
}
