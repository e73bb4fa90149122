/** Reads pages of a run's events, in both directions. A page has a cursor also where nothing follows: the caller resumes there. */
import { type CommitNo, commitNo, eventId, firstCommit } from '../../../engine/ids.ts';
import { type DevKitEvent, slotId, slotOf } from '../../../engine/devkit/events.ts';
import type { JsonObject, JsonValue, Payload } from '../../../engine/json.ts';
import { type Commit, eventIdAfter } from '../../../engine/log/commit.ts';
import type { Deps } from '../../deps.ts';
import { readCommits } from '../../run-log/read-run-fold.ts';
import { findCommitBefore, readWindows } from '../../run-log/read-windows.ts';
import { answerBytesOf, valueInAnswer } from './uploads.ts';
import { type PlacedEvent, eventView } from './views.ts';
import type { DevKitFold, ResolveData } from './world.ts';
import { type WorldResult, answer, refused } from './world-error.ts';

export interface Pagination {
  readonly limit?: number;
  readonly cursor?: string;
  readonly sortOrder?: 'asc' | 'desc';
}

export interface Page {
  readonly data: readonly JsonObject[];
  readonly cursor: string | null;
  readonly hasMore: boolean;
}

/** The largest page of the Workflow DevKit. */
export const maxPageSize = 1_000;
/** A Lambda response has at most 6 MB, and a page can come with three values. */
export const maxPageBytes = 3_145_728;
/** Up to this distance from the end, in events, all commits since the event are read, and not in windows. */
const maxSuffix = 1_000;

type ReadDeps = Pick<Deps, 'blobs' | 'clock' | 'log' | 'uploads'>;

export async function listEvents(
  deps: ReadDeps,
  fold: DevKitFold,
  pagination: Pagination,
  resolveData: ResolveData,
): Promise<WorldResult<Page>> {
  const position = pagination.cursor === undefined ? undefined : slotOf(pagination.cursor);
  if (pagination.cursor !== undefined && position === undefined)
    return refused('cursor_invalid', 'the cursor is not from this list');
  const limit = Math.min(pagination.limit ?? maxPageSize, maxPageSize);
  const last = lastEventOf(fold);
  if (pagination.sortOrder === 'desc') {
    const before = Math.min(position ?? last + 1, last + 1);
    const found = await eventsBetween(deps, fold, Math.max(0, before - 1 - limit), before - 1);
    return answer(await pageOf(deps, fold, found.toReversed(), resolveData, before - 1 > limit, pagination.cursor));
  }
  const after = position ?? 0;
  const through = Math.min(last, after + limit);
  const found = await eventsBetween(deps, fold, after, through);
  return answer(await pageOf(deps, fold, found, resolveData, through < last, pagination.cursor));
}

const lastEventOf = ({ state }: DevKitFold): number => state.nextEventId - 1;

/** The events after one and up to another, in their order. Those of commits that are kept need no read. */
export async function eventsBetween(
  deps: Pick<Deps, 'log'>,
  fold: DevKitFold,
  after: number,
  through: number,
): Promise<readonly PlacedEvent[]> {
  if (through <= after) return [];
  const isWanted = ({ id }: PlacedEvent): boolean => id > after && id <= through;
  const kept = fold.latest?.after(after);
  if (kept !== undefined) return kept.flatMap(placedIn).filter(isWanted);
  const { head } = fold;
  const first = placedIn(head.commit).filter(isWanted);
  if (lastEventOf(fold) - after <= maxSuffix)
    return [...first, ...(await readSuffix(deps, fold, after)).flatMap(placedIn).filter(isWanted)];
  const found = [...first];
  const from = await findCommitBefore(deps, head.address, after);
  for await (const { commits } of readWindows(deps, head.address, { from, events: through - after })) {
    found.push(...commits.flatMap(placedIn).filter(isWanted));
    const last = commits.at(-1);
    if (last !== undefined && eventIdAfter(last) > through) break;
  }
  return found;
}

/**
 * All commits with events after a position. Nearly each commit has an event, so one query suffices: only the commit that closes a claim
 * of a hook's token has none.
 */
async function readSuffix(deps: Pick<Deps, 'log'>, fold: DevKitFold, after: number): Promise<readonly Commit[]> {
  for (let count = lastEventOf(fold) - after; ; count *= 2) {
    const from = commitNo(Math.max(firstCommit, fold.state.asOf - count));
    const read = await readCommits(deps, fold, from);
    if (from === firstCommit) keepAll(fold, read);
    const [oldest] = read;
    if (from === firstCommit || (oldest !== undefined && oldest.firstEventId <= after + 1)) return read;
  }
}

/** The code of the 4.x line asks for all events with each message. A read may have brought commits that the fold has not. */
const keepAll = ({ head, state, latest }: DevKitFold, read: readonly Commit[]): void =>
  latest?.replace([head.commit, ...read.filter(({ number }) => number <= state.asOf)]);

export const placedIn = ({ number, firstEventId, at, events }: Commit): readonly PlacedEvent[] =>
  events.flatMap((event, index) =>
    event.type === 'DEVKIT' ? [{ event, id: eventId(firstEventId + index), at, commit: number }] : [],
  );

/** @param hasMore whether events follow those that were found */
async function pageOf(
  deps: ReadDeps,
  fold: DevKitFold,
  found: readonly PlacedEvent[],
  resolveData: ResolveData,
  hasMore: boolean,
  cursor: string | undefined,
): Promise<Page> {
  const fitting = resolveData === 'none' ? found : withinBytes(found);
  const data = await viewsOf(deps, fold, fitting, resolveData);
  const last = fitting.at(-1);
  return {
    data,
    cursor: last === undefined ? (cursor ?? null) : slotId(last.id),
    hasMore: hasMore || fitting.length < found.length,
  };
}

/** The code of the 4.x line gets all events with each message, and those that are kept have been measured before. */
const sizes = new WeakMap<DevKitEvent, number>();

function bytesOf(event: DevKitEvent): number {
  const known = sizes.get(event);
  if (known !== undefined) return known;
  const { payload } = event;
  const ofValue = payload !== undefined && 'ref' in payload ? answerBytesOf(payload) : 0;
  const bytes = Buffer.byteLength(JSON.stringify(event)) + ofValue;
  sizes.set(event, bytes);
  return bytes;
}

function withinBytes(found: readonly PlacedEvent[]): readonly PlacedEvent[] {
  let bytes = 0;
  const first = found.findIndex(({ event }, index) => {
    bytes += bytesOf(event);
    return index > 0 && bytes > maxPageBytes;
  });
  return first === -1 ? found : found.slice(0, first);
}

/** Values that are loaded at once. */
const maxLoads = 16;

export async function viewsOf(
  deps: ReadDeps,
  { head }: DevKitFold,
  found: readonly PlacedEvent[],
  resolveData: ResolveData,
  limitBytes?: number,
): Promise<readonly JsonObject[]> {
  const views: JsonObject[] = [];
  for (let start = 0; start < found.length; start += maxLoads) {
    const batch = found.slice(start, start + maxLoads).map(async (placed) => {
      const value = resolveData === 'none' ? undefined : await valueOf(deps, head, placed.event.payload, limitBytes);
      return eventView(head.address, placed, value);
    });
    views.push(...(await Promise.all(batch)));
  }
  return views;
}

/** @param limitBytes above it the answer has the address of the value */
export const valueOf = async (
  deps: ReadDeps,
  { address }: DevKitFold['head'],
  payload: Payload | undefined,
  limitBytes?: number,
): Promise<JsonValue | undefined> => (payload === undefined ? undefined : valueInAnswer(deps, address, payload, limitBytes));

/** The events of one step, hook or wait. */
export async function listByCorrelation(
  deps: ReadDeps,
  fold: DevKitFold,
  correlationId: string,
  pagination: Pagination,
  resolveData: ResolveData,
): Promise<WorldResult<Page>> {
  const position = pagination.cursor === undefined ? undefined : slotOf(pagination.cursor);
  if (pagination.cursor !== undefined && position === undefined)
    return refused('cursor_invalid', 'the cursor is not from this list');
  const limit = Math.min(pagination.limit ?? maxPageSize, maxPageSize);
  const all = await eventsBetween(deps, fold, 0, lastEventOf(fold));
  const isDescending = pagination.sortOrder === 'desc';
  const ordered = isDescending ? all.toReversed() : all;
  const isAfter = ({ id }: PlacedEvent): boolean => position === undefined || (isDescending ? id < position : id > position);
  const matching = ordered.filter((placed) => placed.event.correlationId === correlationId && isAfter(placed));
  return answer(await pageOf(deps, fold, matching.slice(0, limit), resolveData, matching.length > limit, pagination.cursor));
}

export async function findEvent(
  deps: ReadDeps,
  fold: DevKitFold,
  id: string,
  resolveData: ResolveData,
): Promise<JsonObject | undefined> {
  const position = slotOf(id);
  if (position === undefined || position < 1 || position > lastEventOf(fold)) return undefined;
  const [view] = await viewsOf(deps, fold, await eventsBetween(deps, fold, position - 1, position), resolveData);
  return view;
}

/** The commits of these numbers; the first one is in the head. */
export async function commitsAt(
  { log }: Pick<Deps, 'log'>,
  { head }: DevKitFold,
  numbers: readonly CommitNo[],
): Promise<readonly Commit[]> {
  const later = [...new Set(numbers)].filter((number) => number > firstCommit);
  const found = later.length === 0 ? [] : await log.commits(later.map((number) => ({ run: head.address, number })));
  return [...(later.length < numbers.length ? [head.commit] : []), ...found.filter((commit) => commit !== undefined)];
}
