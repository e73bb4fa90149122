/** The objects of large values in the bucket: their keys, and the tag by which a lifecycle rule deletes them. */
import { payloadLifetimeTag, payloadLifetimes } from '../contract/payload-lifetimes.ts';
import type { Scope } from '../engine/ids.ts';
import { invariant } from '../engine/invariant.ts';
import { type Instant, days, minutes } from '../engine/time.ts';

export const payloadKey = (scope: Scope, key: string): string => `payloads/${scope.projectId}/${scope.environment}/${key}`;

/** The tag of an object that is written now and needed until `expiresAt`. */
export const lifetimeTag = (expiresAt: Instant, now: Instant): string =>
  `${payloadLifetimeTag}=${payloadLifetime(expiresAt, now)}`;

/** S3 sets the creation time with its own clock. */
const maxClockSkew = minutes(15);

/**
 * The lifetime, in days, of a payload that is written now and needed until `expiresAt`. S3 adds the days to the creation
 * time and rounds up to the next midnight (UTC). A payload is never deleted before `expiresAt`; up to a lifetime of 730
 * days it is deleted less than two days after it.
 */
export function payloadLifetime(expiresAt: Instant, now: Instant): number {
  const dayOfCreation = Math.floor((now - maxClockSkew) / days(1));
  const needed = Math.ceil(expiresAt / days(1)) - dayOfCreation - 1;
  const lifetime = payloadLifetimes.find((each) => each >= needed);
  invariant(lifetime !== undefined, () => `no payload lifetime covers ${needed} days`);
  return lifetime;
}
