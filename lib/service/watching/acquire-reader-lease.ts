/** Acquires what an event stream needs before it opens: one of the installation's stream slots, and the lease of a named reader. */
import { after, durationMs, minutes } from '../../engine/time.ts';
import type { Reader } from '../../ports/watching.ts';
import { Unavailable } from '../../ports/unavailable.ts';
import type { Deps } from '../deps.ts';
import { maxStreamDuration } from './watch-run.ts';

/** Longer than a stream by the maximum clock skew. The slot of a crashed function is free again after this time. */
const slotLeaseDuration = durationMs(maxStreamDuration + minutes(1));

/**
 * Acquires a slot for a stream. A slot that is not released is free again when its lease expires.
 * @returns the function that releases the slot
 * @throws Unavailable if the maximum number of streams is open
 */
export async function acquireStreamSlot({
  readerLeases,
  ids,
  clock,
  settings: { maxStreams },
}: Pick<Deps, 'readerLeases' | 'ids' | 'clock' | 'settings'>): Promise<() => Promise<void>> {
  if (maxStreams === undefined) return async () => {};
  const now = clock.now();
  const slot = await readerLeases.acquireStreamSlot({
    stream: ids.nonce(),
    maxSlots: maxStreams,
    now,
    until: after(now, slotLeaseDuration),
  });
  if (slot === undefined) throw new Unavailable(`a slot for a stream of events (setting watchers: ${maxStreams})`);
  return async () => {
    try {
      await readerLeases.releaseStreamSlot(slot);
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
    }
  };
}

/** Acquires the reader's lease for a new stream. @returns a function that checks whether the stream still holds the lease */
export async function acquireReaderLease(
  { readerLeases, ids, clock }: Pick<Deps, 'readerLeases' | 'ids' | 'clock'>,
  reader: Reader,
): Promise<() => Promise<boolean>> {
  const stream = ids.nonce();
  // Twice the maximum length of a stream; the expiry only cleans up.
  await readerLeases.acquire(reader, stream, after(clock.now(), durationMs(2 * maxStreamDuration)));
  return async () => {
    try {
      const holder = await readerLeases.holder(reader);
      return holder === undefined || holder === stream;
    } catch (error) {
      // It is harmless if the stream continues a little longer.
      if (error instanceof Unavailable) return true;
      throw error;
    }
  };
}
