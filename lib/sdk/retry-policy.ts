import type { Duration } from './duration.ts';

/** The wait before attempt *n + 1* is `min(initialInterval × backoffCoefficient^(n − 1), maximumInterval)`. Absent fields use the defaults. */
export interface RetryPolicy {
  /** all attempts, including the first; 0: unlimited. Default: 10 for steps, 1 for workflows. */
  readonly maximumAttempts?: number;
  /** default: 1 s */
  readonly initialInterval?: Duration;
  /** at least 1; default: 2 */
  readonly backoffCoefficient?: number;
  /** default: 100 s */
  readonly maximumInterval?: Duration;
}
