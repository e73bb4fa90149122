/** When the items of a run expire. One place says it, and every item of the run has the same. */
import { invariant } from '../invariant.ts';
import { type DurationMs, type Instant, after, days } from '../time.ts';

/**
 * So long after its deadline a run ends at the latest: code may undo what it did for an hour, and the sweep that ends a run may be
 * late. The retention counts from then, so no item expires before the retention after the run's end is over.
 */
export const latestEndAfterDeadline: DurationMs = days(1);

interface Lifetime {
  readonly createdAt: Instant;
  readonly deadlineAt: Instant;
}

export function expiryOf({ createdAt, deadlineAt }: Lifetime, retention: DurationMs): Instant {
  invariant(deadlineAt > createdAt, () => `a run of ${createdAt} has a deadline that has passed: ${deadlineAt}`);
  return after(after(deadlineAt, latestEndAfterDeadline), retention);
}
