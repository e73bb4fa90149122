/** A reader with a name has one stream of a run at a time: the one that it opened last. */
import { after, durationMs } from '../engine/time.ts';
import type { Reader } from '../ports/seats.ts';
import { Unavailable } from '../ports/unavailable.ts';
import type { Deps } from './deps.ts';
import { longestStream } from './watch-run.ts';

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
