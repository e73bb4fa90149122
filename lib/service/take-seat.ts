/** What a stream needs before it opens: the seat of a reader with a name, and one of the installation's slots. */
import { after, durationMs, minutes } from '../engine/time.ts';
import type { Reader } from '../ports/seats.ts';
import { Unavailable } from '../ports/unavailable.ts';
import type { Deps } from './deps.ts';
import { longestStream } from './watch-run.ts';

/** Longer than a stream by what clocks may differ: a slot whose stream died with its function is free again after that. */
const slotLease = durationMs(longestStream + minutes(1));

/**
 * Takes a slot for a stream. Throws `Unavailable` where as many streams are open as may be. The answer gives the slot back; a
 * stream that cannot do so holds it until the lease ends.
 */
export async function takeStreamSlot({
  seats,
  ids,
  clock,
  settings: { mostStreams },
}: Pick<Deps, 'seats' | 'ids' | 'clock' | 'settings'>): Promise<() => Promise<void>> {
  if (mostStreams === undefined) return async () => {};
  const now = clock.now();
  const slot = await seats.takeSlot({ stream: ids.nonce(), most: mostStreams, now, until: after(now, slotLease) });
  if (slot === undefined) throw new Unavailable(`a slot for a stream of events (setting watchers: ${mostStreams})`);
  return async () => {
    try {
      await seats.freeSlot(slot);
    } catch (trouble) {
      if (!(trouble instanceof Unavailable)) throw trouble;
    }
  };
}

/** Takes the reader's seat for a new stream. The answer says, asked again and again, whether the stream still has it. */
export async function takeSeat(
  { seats, ids, clock }: Pick<Deps, 'seats' | 'ids' | 'clock'>,
  reader: Reader,
): Promise<() => Promise<boolean>> {
  const stream = ids.nonce();
  // Twice as long as there can be a stream that asks; only clears away.
  await seats.give(reader, stream, after(clock.now(), durationMs(2 * longestStream)));
  return async () => {
    try {
      const holder = await seats.holder(reader);
      return holder === undefined || holder === stream;
    } catch (trouble) {
      // A stream that goes on a little longer does no harm.
      if (trouble instanceof Unavailable) return true;
      throw trouble;
    }
  };
}
