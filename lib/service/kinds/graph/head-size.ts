/** How many results the head of a run may contain, in commit 1 or 2. */
import { pack, packedBytes } from '../../../codec/packed.ts';
import type { Commit } from '../../../engine/log/commit.ts';

/**
 * In bytes, of the events of a head whose run goes on, as they are stored. Each later update of the head is billed by its size, so larger
 * results have a commit of their own.
 */
const maxEventsInOpenHead = 500;
/** The same of a head that nothing updates. Lists read heads: below 4 KB, each is one read unit. */
const maxEventsInEndedHead = 3_500;

/** @param isEnded the write with these events records the end of the run */
export const fitsHead = (events: Commit['events'], isEnded: boolean): boolean =>
  packedBytes(pack(events)) <= (isEnded ? maxEventsInEndedHead : maxEventsInOpenHead);
