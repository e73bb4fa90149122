/**
 * Retries: how long to wait after a failed attempt, and one loop that waits and tries again. Time and chance are parameters, so a test or
 * a simulation determines every delay. All times are in milliseconds.
 */

/** The delay after the failed attempt `n`, counted from 1, is `min(maxMs, baseMs × factor^(n − 1))`, less the jitter. */
export interface Backoff {
  readonly baseMs: number;
  /** default: 2; with 1 all delays are equal */
  readonly factor?: number;
  /** default: no maximum */
  readonly maxMs?: number;
  /** the random part of each delay: 0 (the default) for none, 0.5 for between half and all of it, 1 for between nothing and all of it */
  readonly jitter?: number;
}

/**
 * The delay after a failed attempt, not rounded.
 * @param failedAttempt from 1
 * @param random from 0 up to 1; without jitter it has no effect
 */
export function backoffMs(
  { baseMs, factor = 2, maxMs = Infinity, jitter = 0 }: Backoff,
  failedAttempt: number,
  random = 1,
): number {
  // The power can be infinite, and 0 × Infinity is not a number.
  const full = baseMs === 0 ? 0 : Math.min(maxMs, baseMs * factor ** (failedAttempt - 1));
  return full * (1 - jitter + jitter * random);
}

export interface RetryLimits {
  /** all attempts, the first included; `Infinity` for no limit */
  readonly attempts: number;
  readonly backoff: Backoff;
}

export type NextAttempt =
  | { readonly kind: 'retry'; readonly delayMs: number }
  | { readonly kind: 'give-up'; readonly reason: 'attempts' | 'deadline' };

export interface FailureCircumstances {
  /** from 0 up to 1 */
  readonly random?: number;
  /** requested by the other side (`Retry-After`); the backoff is added to it, because all clients that were refused together got the same */
  readonly requestedDelayMs?: number | undefined;
  /** the time until the deadline, after which no attempt begins; default: no deadline */
  readonly remainingMs?: number;
}

/** Whether and when the next attempt begins. The delay is a whole number. @param failedAttempt from 1 */
export function nextAttempt(
  { attempts, backoff }: RetryLimits,
  failedAttempt: number,
  { random = 1, requestedDelayMs = 0, remainingMs = Infinity }: FailureCircumstances = {},
): NextAttempt {
  if (failedAttempt >= attempts) return { kind: 'give-up', reason: 'attempts' };
  const delayMs = requestedDelayMs + Math.floor(backoffMs(backoff, failedAttempt, random));
  return delayMs > remainingMs ? { kind: 'give-up', reason: 'deadline' } : { kind: 'retry', delayMs };
}

export interface RetryPolicy<Outcome> extends RetryLimits {
  /** whether another attempt can succeed after this outcome */
  readonly isRetryable: (outcome: Outcome) => boolean;
  readonly requestedDelayMs?: (outcome: Outcome) => number | undefined;
  /** the time until the deadline, after which no attempt begins; default: no deadline */
  readonly remainingMs?: () => number;
  /** called before each wait */
  readonly onRetry?: (outcome: Outcome, failedAttempt: number) => void;
}

export interface RetryTools {
  /** If it rejects, the retries end with that error: this is how a caller aborts them. */
  readonly sleep: (ms: number) => Promise<unknown>;
  /** from 0 up to 1; default: the longest delay */
  readonly random?: () => number;
}

/** Repeats the attempt until its outcome is not retryable, or the policy gives up. @returns the last outcome */
export async function retryOutcome<Outcome>(
  attempt: () => Promise<Outcome>,
  { isRetryable, requestedDelayMs, remainingMs, onRetry, ...limits }: RetryPolicy<Outcome>,
  { sleep, random = () => 1 }: RetryTools,
): Promise<Outcome> {
  for (let attempts = 1; ; attempts += 1) {
    const outcome = await attempt();
    if (!isRetryable(outcome)) return outcome;
    const next = nextAttempt(limits, attempts, {
      random: random(),
      requestedDelayMs: requestedDelayMs?.(outcome),
      remainingMs: remainingMs?.() ?? Infinity,
    });
    if (next.kind === 'give-up') return outcome;
    onRetry?.(outcome, attempts);
    await sleep(next.delayMs);
  }
}

type Settled<Result> =
  | { readonly kind: 'returned'; readonly result: Result }
  | { readonly kind: 'threw'; readonly error: unknown };

/** Repeats the call while it throws a retryable error. @throws the last error */
export async function retry<Result>(
  call: () => Promise<Result>,
  { isRetryable, onRetry, ...limits }: RetryLimits & Pick<RetryPolicy<unknown>, 'isRetryable' | 'onRetry'>,
  tools: RetryTools,
): Promise<Result> {
  const settle = (): Promise<Settled<Result>> =>
    call().then(
      (result) => ({ kind: 'returned', result }),
      (error: unknown) => ({ kind: 'threw', error }),
    );
  const policy: RetryPolicy<Settled<Result>> = {
    ...limits,
    isRetryable: (outcome) => outcome.kind === 'threw' && isRetryable(outcome.error),
    onRetry: (outcome, attempts) => {
      if (outcome.kind === 'threw') onRetry?.(outcome.error, attempts);
    },
  };
  const outcome = await retryOutcome(settle, policy, tools);
  if (outcome.kind === 'returned') return outcome.result;
  throw outcome.error;
}
