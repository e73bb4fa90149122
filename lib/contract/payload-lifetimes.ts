/** For how long the bucket keeps a large value: the writer says it by a tag, and the template has a rule for each. */

/** The tag of a payload whose value is its lifetime in days; the bucket has a rule for each. */
export const payloadLifetimeTag = 'stepwell-days';

/** The bucket deletes by rules, and takes at most 1,000 of them: one for each of these lifetimes, whatever the retention is set to. */
const maxDailyLifetime = 730;
/** Of payloads that are needed for longer, in days. The longest: a start in 365, a deadline of 365, a day, a retention of 3,650. */
const longerLifetimes = { stepDays: 15, maxDays: 4_400 } as const;

/** Lifetimes that a payload may have, in days, ascending. */
export const payloadLifetimes: readonly number[] = [
  ...Array.from({ length: maxDailyLifetime }, (_, index) => index + 1),
  ...Array.from(
    { length: Math.ceil((longerLifetimes.maxDays - maxDailyLifetime) / longerLifetimes.stepDays) },
    (_, index) => maxDailyLifetime + (index + 1) * longerLifetimes.stepDays,
  ),
];
