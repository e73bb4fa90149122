/** Lists the public events of a run after a given event, in order, with the derived events that follow from them. */
import { type CommitNo, type RunAddress, firstCommit } from '../../engine/ids.ts';
import type { Commit } from '../../engine/log/commit.ts';
import {
  type DerivedEvent,
  attemptName,
  derivedEvents,
  mayCancelNodes,
  mayStartUnrecorded,
  unrecordedStarts,
} from '../../engine/log/derived-events.ts';
import { type RunState, applyCommit, emptyState, isTerminal, openNodes } from '../../engine/log/fold.ts';
import type { Head } from '../../engine/log/head.ts';
import { type MappedEvent, type PublicEvent, mapEvents } from '../../engine/log/public-event.ts';
import type { Deps } from '../deps.ts';
import { type RunReadDeps, readRunFold } from '../run-log/read-run-fold.ts';
import { findCommitBefore, readWindows } from '../run-log/read-windows.ts';
import { readRecordedStarts } from '../run-log/recorded-starts.ts';

export type ListedEvent = PublicEvent | DerivedEvent;

export type EventListing =
  | {
      readonly kind: 'found';
      /** the limit of a page does not count derived events */
      readonly events: readonly ListedEvent[];
      /** the last returned event, or the event of the request */
      readonly last: number;
      readonly hasMore: boolean;
    }
  | { readonly kind: 'not_found' };

/** A Lambda response has at most 6 MB; a larger page is cut. */
export const maxPageBytes = 4_194_304;

type ListDeps = RunReadDeps & Pick<Deps, 'clock'>;

/** @param after the id of the last event seen; 0 before the first */
export async function listEvents(
  deps: ListDeps,
  run: RunAddress,
  { after, limit }: { readonly after: number; readonly limit: number },
): Promise<EventListing> {
  const head = await deps.log.head(run);
  if (head === undefined) return { kind: 'not_found' };
  const read: Commit[] = [head.commit];
  const newerEventsIn = (commits: readonly Commit[]): readonly MappedEvent[] =>
    commits
      .filter((commit) => endOf(commit) > after)
      .flatMap((commit) => mapEvents(head, commit))
      .filter(({ event }) => event.eventId > after);
  const newerEvents = [...newerEventsIn(read)];
  const from = await findCommitBefore(deps, run, after);
  // Events at and after a gap in the log are left to the next request, so there is more to read.
  let hasMore = false;
  for await (const { commits, hasGap } of readWindows(deps, run, { from, events: limit })) {
    read.push(...commits);
    newerEvents.push(...newerEventsIn(commits));
    hasMore = hasGap;
    if (newerEvents.length > limit) break;
  }
  const page = newerEvents.slice(0, limit);
  const isAtEnd = !hasMore && page.length === newerEvents.length;
  const needsState = page.some(({ logEvent }) => mayCancelNodes(logEvent) || (isAtEnd && mayStartUnrecorded(logEvent)));
  const state = needsState ? await foldOf(deps, head, from === firstCommit ? read : undefined) : emptyState();
  const groups = withinBytes(page.map((mapped) => [...derivedEvents(state, mapped), mapped.event]));
  hasMore ||= newerEvents.length > groups.length;
  const last = groups.at(-1)?.at(-1)?.eventId ?? after;
  const firstNew = read.find((commit) => endOf(commit) > after)?.number;
  const starts = hasMore || firstNew === undefined ? [] : await startsSince(deps, head, state, { firstNew, last });
  return { kind: 'found', events: [...groups.flat(), ...starts], last, hasMore };
}

/** @param known all commits up to the end of the page; undefined: the page begins far from the first commit */
async function foldOf(deps: ListDeps, { address }: Head, known: readonly Commit[] | undefined): Promise<RunState> {
  const state = emptyState();
  if (known === undefined) return (await readRunFold(deps, address))?.state ?? state;
  for (const commit of known) applyCommit(state, commit);
  return state;
}

/**
 * The starts that no commit records, of attempts that these commits dispatched and that run now. So a reader whose cursor is at the end
 * of the log gets an empty page.
 */
async function startsSince(
  deps: ListDeps,
  head: Head,
  state: RunState,
  { firstNew, last }: { readonly firstNew: CommitNo; readonly last: number },
): Promise<readonly DerivedEvent[]> {
  if (isTerminal(state.progress)) return [];
  const earlier = openNodes(state).filter(({ dispatchedIn }) => dispatchedIn < firstNew);
  const announced = new Set(earlier.map(attemptName));
  const heartbeats = await readRecordedStarts(deps, head.address, state, (node) => !announced.has(attemptName(node)));
  return unrecordedStarts(head, state, { now: deps.clock.now(), last, announced, heartbeats });
}

/** The first groups of events that fit one response, at least one. A group ends with an event of the log, after its derived events. */
export function withinBytes<Event>(groups: readonly (readonly Event[])[]): readonly (readonly Event[])[] {
  let bytes = 0;
  const firstOverLimit = groups.findIndex((group, index) => {
    bytes += bytesOf(group);
    return index > 0 && bytes > maxPageBytes;
  });
  const fitting = firstOverLimit === -1 ? groups : groups.slice(0, firstOverLimit);
  return fitting.length === 1 ? fitting.map(shortened) : fitting;
}

/** The end of a run may cancel more nodes than fit a page. */
function shortened<Event>(group: readonly Event[]): readonly Event[] {
  let available = maxPageBytes;
  return group
    .toReversed()
    .filter((event, index) => (available -= bytesOf([event])) >= 0 || index === 0)
    .toReversed();
}

const bytesOf = (events: readonly unknown[]): number =>
  events.reduce((sum: number, event) => sum + Buffer.byteLength(JSON.stringify(event)), 0);

const endOf = (commit: Commit): number => commit.firstEventId + commit.events.length - 1;
