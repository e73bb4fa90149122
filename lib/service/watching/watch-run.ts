/** One reader's stream: news as they come, signs of life while there are none, and an end in good time. */
import type { Instant } from '../../engine/time.ts';
import { after, between, minutes, seconds } from '../../engine/time.ts';
import type { Deps } from '../deps.ts';
import { type FollowedRun, type RunUpdate, followRun } from './follow-run.ts';

/**
 * A stream ends by itself after this, and the reader goes on with another. A gateway would break it off after 15 minutes, and
 * a reader that has gone away is not told of: until the end, or until it is back under its name, it holds a slot that others
 * wait for.
 */
export const maxStreamDuration = minutes(5);
/** A gateway ends a stream on which nothing has passed for five minutes, and proxies do sooner. */
export const heartbeatInterval = seconds(15);
/** With what the authenticator keeps for 15 s, a revoked key's stream ends within half a minute. */
const authRecheckInterval = seconds(10);
/** Of fifty slots a reader that comes back twenty times a second leaves some free. */
const leaseCheckInterval = seconds(1);

export type StreamUpdate = Exclude<RunUpdate, { kind: 'idle' }> | { readonly kind: 'heartbeat'; readonly at: Instant };

/**
 * @param isAllowed whether the reader still may; asked every ten seconds
 * @param holdsLease whether the reader has not opened another stream since; asked every second, or at each look where those are
 * rarer
 */
export async function* watchRun(
  deps: Pick<Deps, 'log' | 'streams' | 'clock'>,
  followed: FollowedRun,
  lastSeen: number,
  isAllowed: () => Promise<boolean>,
  holdsLease: () => Promise<boolean> = withoutLease,
): AsyncGenerator<StreamUpdate, void, undefined> {
  const { clock } = deps;
  const endsAt = after(clock.now(), maxStreamDuration);
  let checkedAt = clock.now();
  let leaseCheckedAt = clock.now();
  let lastSentAt = clock.now();
  for await (const update of followRun(deps, followed, lastSeen)) {
    const now = clock.now();
    if (now >= endsAt) return;
    if (between(checkedAt, now) >= authRecheckInterval) {
      if (!(await isAllowed())) return;
      checkedAt = now;
    }
    if (between(leaseCheckedAt, now) >= leaseCheckInterval) {
      if (!(await holdsLease())) return;
      leaseCheckedAt = now;
    }
    if (update.kind !== 'idle') {
      yield update;
      lastSentAt = clock.now();
    } else if (between(lastSentAt, now) >= heartbeatInterval) {
      yield { kind: 'heartbeat', at: now };
      lastSentAt = now;
    }
  }
}

/** A reader without a name has as many streams as it opens. */
const withoutLease = async (): Promise<boolean> => true;
