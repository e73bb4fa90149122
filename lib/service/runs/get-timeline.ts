/** The timeline of a run: a compact row for each attempt, in the order of the events that changed them last. */
import type { RunAddress } from '../../engine/ids.ts';
import { type AttemptRow, Timeline } from '../../engine/log/timeline.ts';
import type { Instant } from '../../engine/time.ts';
import type { Deps } from '../deps.ts';
import type { RunReadDeps } from '../run-log/read-run-fold.ts';
import { listEvents } from './list-events.ts';

export type TimelineResult =
  | {
      readonly kind: 'found';
      readonly createdAt: Instant;
      readonly rows: readonly AttemptRow[];
      /** the last event that the rows of this page and of earlier ones contain */
      readonly last: number;
      readonly hasMore: boolean;
    }
  | { readonly kind: 'not_found' };

export interface TimelineRequest {
  /** only rows that a later event changed */
  readonly after: number;
  readonly limit: number;
  /** ms since the epoch, of an ISO time */
  readonly parseTime: (text: string) => number;
}

/** Above the events of most runs: the fewer reads, the less of the log is searched for where to begin. */
const eventsPerRead = 10_000;

/** Each request reads the whole log, because an attempt has several events. */
export async function getTimeline(
  deps: RunReadDeps & Pick<Deps, 'clock'>,
  run: RunAddress,
  { after, limit, parseTime }: TimelineRequest,
): Promise<TimelineResult> {
  const head = await deps.log.head(run);
  if (head === undefined) return { kind: 'not_found' };
  const timeline = new Timeline(parseTime);
  let last = 0;
  for (let hasMore = true; hasMore;) {
    const page = await listEvents(deps, run, { after: last, limit: eventsPerRead });
    if (page.kind === 'not_found') return page;
    for (const event of page.events) timeline.add(event);
    // A gap in the log is read again by the next request.
    hasMore = page.hasMore && page.last > last;
    last = page.last;
  }
  const changed = timeline
    .rows()
    .filter(({ eventId }) => eventId > after)
    .toSorted((one, other) => one.eventId - other.eventId);
  const rows = changed.slice(0, endOfPage(changed, limit));
  const isWhole = rows.length === changed.length;
  return {
    kind: 'found',
    createdAt: head.createdAt,
    rows,
    last: isWhole ? last : (rows.at(-1)?.eventId ?? last),
    hasMore: !isWhole,
  };
}

/** Rows that the same event changed are not split: the next page begins after an event. */
function endOfPage(rows: readonly AttemptRow[], limit: number): number {
  const last = rows[limit - 1]?.eventId;
  if (last === undefined) return rows.length;
  const next = rows.findIndex(({ eventId }, index) => index >= limit && eventId !== last);
  return next === -1 ? rows.length : next;
}
