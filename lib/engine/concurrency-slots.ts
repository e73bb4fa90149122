/**
 * Places: how many runs of a workflow may be at work at once. A place is a number from 0; a run goes by the number of places
 * that its own version says, so runs of several versions share the low ones.
 */
import type { RunId, Scope, WorkflowName } from './ids.ts';
import type { Instant } from './time.ts';

/** Where the places of a workflow are kept. */
export interface SlotPoolKey extends Scope {
  readonly workflowName: WorkflowName;
}

export interface TakenSlot {
  readonly slot: number;
  readonly runId: RunId;
}

export interface WaitingRun {
  readonly runId: RunId;
  /** when it was to start */
  readonly since: Instant;
  /** it may have one of the places below this */
  readonly slots: number;
}

/** Beyond this a workflow is not limited, for any purpose. */
export const maxSlots = 1_000;

/** Who comes first: the earlier start, and of two at the same moment the lower id. */
export const byAdmissionOrder = (one: WaitingRun, other: WaitingRun): number =>
  one.since - other.since || (one.runId < other.runId ? -1 : one.runId > other.runId ? 1 : 0);

/** Which place each would get if they were let in one after the other; those that find none are not in it. */
export function assignSlots(taken: readonly TakenSlot[], waiting: readonly WaitingRun[]): ReadonlyMap<RunId, number> {
  const occupied = new Set(taken.map(({ slot }) => slot));
  const assigned = new Map<RunId, number>();
  for (const { runId, slots } of waiting.toSorted(byAdmissionOrder)) {
    let slot = 0;
    while (slot < slots && occupied.has(slot)) slot += 1;
    if (slot === slots) continue;
    occupied.add(slot);
    assigned.set(runId, slot);
  }
  return assigned;
}
