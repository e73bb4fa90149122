/** How often an attempt is repeated, for which causes, and after which wait. */
import type { DurationMs } from '../time.ts';
import type { RetryableCause } from './causes.ts';

export interface RetryPolicy {
  /** all attempts, the first included: 1 means never again */
  readonly attempts: number;
  readonly backoffMs: DurationMs;
  readonly maxBackoffMs: DurationMs;
  readonly retryOn: readonly RetryableCause[];
  /** full waits (the graph family's documented 1 s, 2 s, 4 s), or between half and all of them (the lens family) */
  readonly jitter: 'none' | 'half';
}
