/** Whether a request that went wrong is sent again, and when. */
import type { OperationId } from '../api/routes.ts';
import type { Route } from '../api/route.ts';
import { type ComputeClientError, RateLimitedComputeClientError, TransportComputeClientError } from './errors.ts';

const baseMs = 200;
const capMs = 5_000;
/** The service counts a key's requests by the minute: whoever asks for more patience than that is told to the caller instead. */
const longestRetryAfterMs = 60_000;

/** Mutations that change nothing when they are done once more. */
const doneOnce: readonly string[] = ['archiveWorkflow', 'cancelRun'] satisfies readonly OperationId[];

/** Sent twice, has the effect of once: it reads, or its idempotency key or its nature keeps it to one. */
const isRepeatable = ({
  action,
  idempotencyKey,
  operationId,
}: Pick<Route, 'action' | 'idempotencyKey' | 'operationId'>): boolean =>
  action === undefined || idempotencyKey === 'required' || doneOnce.includes(operationId);

const isPassing = (error: ComputeClientError): boolean =>
  error instanceof TransportComputeClientError ? error.kind !== 'answer' : error.status === 429 || error.status >= 500;

/**
 * The wait before the next try in milliseconds; undefined where there is to be none.
 * Anything but a 429 may have been carried out, a 503 too: the gateway says so when a function broke in the middle of its
 * work. So what is not repeatable is sent again after a 429 alone.
 * @param triesBefore tries that have been made, this one not counted
 */
export const waitBeforeRetry = (
  route: Route,
  error: ComputeClientError,
  { triesBefore, retryAfterMs = 0, random }: { triesBefore: number; retryAfterMs: number | undefined; random: () => number },
): number | undefined => {
  const isUnseen = error instanceof RateLimitedComputeClientError;
  if (!isPassing(error) || (!isUnseen && !isRepeatable(route)) || retryAfterMs > longestRetryAfterMs) return undefined;
  // Full jitter, also behind a Retry-After: else all who were refused together come back together.
  return retryAfterMs + Math.floor(random() * Math.min(capMs, baseMs * 2 ** triesBefore));
};
