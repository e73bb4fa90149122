/** The ids of runs that applications choose: ULIDs, whose time must be about now. */
import { runIdPattern } from '../ids.ts';
import { type Instant, days, instant, minutes } from '../time.ts';

const maxAge = days(1);
const maxLead = minutes(5);
/** Crockford's base 32. */
const digits = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const timeDigits = 10;

/** @returns what is wrong with the id; undefined: nothing */
export function runIdError(id: string, now: Instant): string | undefined {
  if (!runIdPattern.test(id)) return `the run id ${id.slice(0, 64)} is not wrun_ with a ULID`;
  const at = timeOfRunId(id);
  if (at < now - maxAge) return `the time in the run id ${id} is more than a day ago`;
  if (at > now + maxLead) return `the time in the run id ${id} is more than five minutes ahead`;
  return undefined;
}

/** The time in the id, by the clock of the application that chose it. */
export function timeOfRunId(id: string): Instant {
  const text = id.slice('wrun_'.length, 'wrun_'.length + timeDigits);
  let time = 0;
  for (const digit of text) time = time * digits.length + digits.indexOf(digit);
  return instant(time);
}
