/** When the items of a run expire. All items of a run share this time. */
import { invariant } from '../invariant.ts';
import { type DurationMs, type Instant, after, days } from '../time.ts';

/**
 * The latest end of a run after its deadline: a rollback may take an hour, and the sweep that ends a run may be late. The retention
 * counts from here, so every item outlives the run's end by the full retention.
 */
export const latestEndAfterDeadline: DurationMs = days(1);

/** The longest time from now to the deadline of a run, and so the longest wait inside a run. */
export const maxDeadline: DurationMs = days(365);

interface Lifetime {
  readonly createdAt: Instant;
  readonly deadlineAt: Instant;
}

export function expiryOf({ createdAt, deadlineAt }: Lifetime, retention: DurationMs): Instant {
  invariant(deadlineAt > createdAt, () => `the deadline ${deadlineAt} is not after the creation of the run at ${createdAt}`);
  return after(after(deadlineAt, latestEndAfterDeadline), retention);
}
