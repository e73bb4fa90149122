/** Lifetimes of large values in the bucket. The writer tags each object with a lifetime that has a lifecycle rule. */

/** The tag of an object. Its value is the lifetime in days. */
export const payloadLifetimeTag = 'stepwell-days';

/** A bucket has at most 1,000 lifecycle rules, so long lifetimes are coarser. The rules do not depend on the retention setting. */
const maxDailyLifetime = 730;
/** Steps of longer lifetimes. The maximum: a start in 365 days, a deadline of 365, one day, and a retention of 3,650. */
const longerLifetimes = { stepDays: 15, maxDays: 4_400 } as const;

/** All lifetimes, in days, ascending. */
export const payloadLifetimes: readonly number[] = [
  ...Array.from({ length: maxDailyLifetime }, (_, index) => index + 1),
  ...Array.from(
    { length: Math.ceil((longerLifetimes.maxDays - maxDailyLifetime) / longerLifetimes.stepDays) },
    (_, index) => maxDailyLifetime + (index + 1) * longerLifetimes.stepDays,
  ),
];

/**
 * Days from the expiry of a run until the bucket has deleted its payloads, for daily and for longer lifetimes. S3 counts lifetimes
 * from midnight (UTC), and the writer rounds up.
 */
export const daysUntilDeletion = { daily: 2, longer: longerLifetimes.stepDays + 2 } as const;
