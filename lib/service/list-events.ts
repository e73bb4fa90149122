/** What happened to a run after an event, in order, as far as the log goes now. */
import { type RunAddress, firstCommit } from '../engine/ids.ts';
import type { Commit } from '../engine/log/commit.ts';
import { type PublicEvent, publicEvents } from '../engine/log/public-event.ts';
import type { Deps } from './deps.ts';

export type EventListing =
  | {
      readonly kind: 'found';
      readonly events: readonly PublicEvent[];
      /** the last event given, or the one that was asked after */
      readonly last: number;
      readonly hasMore: boolean;
    }
  | { readonly kind: 'not_found' };

/** @param after the id of the last event seen; 0 before the first */
export async function listEvents(
  deps: Pick<Deps, 'log'>,
  run: RunAddress,
  { after, limit }: { readonly after: number; readonly limit: number },
): Promise<EventListing> {
  const head = await deps.log.head(run);
  if (head === undefined) return { kind: 'not_found' };
  const tail = await deps.log.commitsAfter(run, firstCommit);
  // Up to the first missing number: behind a hole every commit stands one place too early. What is missing now is given
  // to the next question.
  const dense = tail.filter((commit, index) => commit.number === firstCommit + 1 + index);
  const rest = [head.commit, ...dense].filter((commit) => endOf(commit) > after).flatMap((commit) => publicEvents(run, commit));
  const later = rest.filter(({ eventId }) => eventId > after);
  const events = later.slice(0, limit);
  return { kind: 'found', events, last: events.at(-1)?.eventId ?? after, hasMore: later.length > events.length };
}

const endOf = (commit: Commit): number => commit.firstEventId + commit.events.length - 1;
