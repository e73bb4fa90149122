/** The retry policy of a node. */
import type { DurationMs } from '../time.ts';
import type { RetryableCause } from './causes.ts';

export interface RetryPolicy {
  /** all attempts, the first included: 1 means no retry */
  readonly attempts: number;
  readonly backoffMs: DurationMs;
  readonly maxBackoffMs: DurationMs;
  readonly retryOn: readonly RetryableCause[];
  /** full delays (the graph document: 1 s, 2 s, 4 s), or random between half and full (the lens document) */
  readonly jitter: 'none' | 'half';
}
