import type { Duration } from './duration.ts';

/** Before try *n + 1*: `min(initialInterval × backoffCoefficient^(n − 1), maximumInterval)`. Absent fields are the defaults. */
export interface RetryPolicy {
  /** all tries, the first included; 0: without end. Steps: 10; workflows: 1. */
  readonly maximumAttempts?: number;
  /** 1 s */
  readonly initialInterval?: Duration;
  /** 2; at least 1 */
  readonly backoffCoefficient?: number;
  /** 100 s */
  readonly maximumInterval?: Duration;
}
