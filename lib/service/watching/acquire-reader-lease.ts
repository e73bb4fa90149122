/** What a stream needs before it opens: the seat of a reader with a name, and one of the installation's slots. */
import { after, durationMs, minutes } from '../../engine/time.ts';
import type { Reader } from '../../ports/reader-leases.ts';
import { Unavailable } from '../../ports/unavailable.ts';
import type { Deps } from '../deps.ts';
import { maxStreamDuration } from './watch-run.ts';

/** Longer than a stream by what clocks may differ: a slot whose stream died with its function is free again after that. */
const slotLeaseDuration = durationMs(maxStreamDuration + minutes(1));

/**
 * Takes a slot for a stream. Throws `Unavailable` where as many streams are open as may be. The answer gives the slot back; a
 * stream that cannot do so holds it until the lease ends.
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

/** Takes the reader's seat for a new stream. The answer says, asked again and again, whether the stream still has it. */
export async function acquireReaderLease(
  { readerLeases, ids, clock }: Pick<Deps, 'readerLeases' | 'ids' | 'clock'>,
  reader: Reader,
): Promise<() => Promise<boolean>> {
  const stream = ids.nonce();
  // Twice as long as there can be a stream that asks; only clears away.
  await readerLeases.acquire(reader, stream, after(clock.now(), durationMs(2 * maxStreamDuration)));
  return async () => {
    try {
      const holder = await readerLeases.holder(reader);
      return holder === undefined || holder === stream;
    } catch (error) {
      // A stream that goes on a little longer does no harm.
      if (error instanceof Unavailable) return true;
      throw error;
    }
  };
}
