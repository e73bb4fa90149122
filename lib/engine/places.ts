/**
 * Places: how many runs of a workflow may be at work at once. A place is a number from 0; a run goes by the number of places
 * that its own version says, so runs of several versions share the low ones.
 */
import type { RunId, Scope, WorkflowName } from './ids.ts';
import type { Instant } from './time.ts';

/** Where the places of a workflow are kept. */
export interface PlacesOf extends Scope {
  readonly workflowName: WorkflowName;
}

export interface TakenPlace {
  readonly place: number;
  readonly runId: RunId;
}

export interface WaitingRun {
  readonly runId: RunId;
  /** when it was to start */
  readonly since: Instant;
  /** it may have one of the places below this */
  readonly places: number;
}

/** Beyond this a workflow is not limited, for any purpose. */
export const mostPlaces = 1_000;

/** Who comes first: the earlier start, and of two at the same moment the lower id. */
export const inOrder = (one: WaitingRun, other: WaitingRun): number =>
  one.since - other.since || (one.runId < other.runId ? -1 : one.runId > other.runId ? 1 : 0);

/** Which place each would get if they were let in one after the other; those that find none are not in it. */
export function seating(taken: readonly TakenPlace[], waiting: readonly WaitingRun[]): ReadonlyMap<RunId, number> {
  const occupied = new Set(taken.map(({ place }) => place));
  const seats = new Map<RunId, number>();
  for (const { runId, places } of waiting.toSorted(inOrder)) {
    let place = 0;
    while (place < places && occupied.has(place)) place += 1;
    if (place === places) continue;
    occupied.add(place);
    seats.set(runId, place);
  }
  return seats;
}
