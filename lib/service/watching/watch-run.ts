/** The event stream of one reader: updates as they arrive, heartbeats in between, and an end before the gateway's timeout. */
import type { Instant } from '../../engine/time.ts';
import { after, between, minutes, seconds } from '../../engine/time.ts';
import type { PublicEvent } from '../../engine/log/public-event.ts';
import type { Deps } from '../deps.ts';
import type { RunUpdate } from './follow-run.ts';

/**
 * A stream ends after this time, and the reader reconnects. API Gateway would cut the stream off after 15 minutes. The function cannot
 * detect that a reader disconnected, so the stream holds its slot until it ends or the named reader reconnects.
 */
export const maxStreamDuration = minutes(5);
/** API Gateway ends a stream after five idle minutes; proxies do so sooner. */
export const heartbeatInterval = seconds(15);
/** The authenticator caches keys for 15 s, so the stream of a revoked key ends within 30 s. */
const authRecheckInterval = seconds(10);
/** A reader that reconnects 20 times a second still leaves some of the 50 slots free. */
const leaseCheckInterval = seconds(1);

type ReaderUpdate = { readonly kind: 'event'; readonly event: PublicEvent } | Extract<RunUpdate, { kind: 'delta' | 'derived' }>;
export type StreamUpdate = ReaderUpdate | { readonly kind: 'heartbeat'; readonly at: Instant };

/**
 * @param updates of the followed run, with an `idle` one after each poll without updates
 * @param isAllowed whether the reader may still watch; checked every ten seconds
 * @param holdsLease whether the stream still holds the reader's lease; checked at every poll, at most once a second
 */
export async function* watchRun(
  { clock }: Pick<Deps, 'clock'>,
  updates: AsyncIterable<ReaderUpdate | { readonly kind: 'idle' }>,
  isAllowed: () => Promise<boolean>,
  holdsLease: () => Promise<boolean> = withoutLease,
): AsyncGenerator<StreamUpdate, void, undefined> {
  const endsAt = after(clock.now(), maxStreamDuration);
  let checkedAt = clock.now();
  let leaseCheckedAt = clock.now();
  let lastSentAt = clock.now();
  for await (const update of updates) {
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

/** A reader without a name may open any number of streams. */
const withoutLease = async (): Promise<boolean> => true;
