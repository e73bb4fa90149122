/** Lists the public events of a run after a given event, in order. */
import type { RunAddress } from '../../engine/ids.ts';
import type { Commit } from '../../engine/log/commit.ts';
import { type PublicEvent, publicEvents } from '../../engine/log/public-event.ts';
import type { Deps } from '../deps.ts';
import { findCommitBefore, readWindows } from '../run-log/read-windows.ts';

export type EventListing =
  | {
      readonly kind: 'found';
      readonly events: readonly PublicEvent[];
      /** the last returned event, or the event of the request */
      readonly last: number;
      readonly hasMore: boolean;
    }
  | { readonly kind: 'not_found' };

/** A Lambda response has at most 6 MB; a larger page is cut. */
export const maxPageBytes = 4_194_304;

/** @param after the id of the last event seen; 0 before the first */
export async function listEvents(
  deps: Pick<Deps, 'log'>,
  run: RunAddress,
  { after, limit }: { readonly after: number; readonly limit: number },
): Promise<EventListing> {
  const head = await deps.log.head(run);
  if (head === undefined) return { kind: 'not_found' };
  const newerEventsIn = (commits: readonly Commit[]): readonly PublicEvent[] =>
    commits
      .filter((commit) => endOf(commit) > after)
      .flatMap((commit) => publicEvents(head, commit))
      .filter(({ eventId }) => eventId > after);
  const newerEvents = [...newerEventsIn([head.commit])];
  // Events at and after a gap in the log are left to the next request, so there is more to read.
  let hasMore = false;
  for await (const { commits, hasGap } of readWindows(deps, run, {
    from: await findCommitBefore(deps, run, after),
    events: limit,
  })) {
    newerEvents.push(...newerEventsIn(commits));
    hasMore = hasGap;
    if (newerEvents.length > limit) break;
  }
  const events = withinBytes(newerEvents.slice(0, limit));
  return { kind: 'found', events, last: events.at(-1)?.eventId ?? after, hasMore: hasMore || newerEvents.length > events.length };
}

/** The first events that fit one response, at least one. */
export function withinBytes(events: readonly PublicEvent[]): readonly PublicEvent[] {
  let bytes = 0;
  const firstOverLimit = events.findIndex((event, index) => {
    bytes += Buffer.byteLength(JSON.stringify(event));
    return index > 0 && bytes > maxPageBytes;
  });
  return firstOverLimit === -1 ? events : events.slice(0, firstOverLimit);
}

const endOf = (commit: Commit): number => commit.firstEventId + commit.events.length - 1;
