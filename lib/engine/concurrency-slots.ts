/**
 * Concurrency slots limit how many runs of a workflow are open at once. A slot is a number from 0. A run uses the limit of its own
 * version, so runs of several versions share the low slots.
 */
import type { RunId, Scope, WorkflowName } from './ids.ts';
import type { Instant } from './time.ts';

/** Identifies the slots of one workflow. */
export interface SlotPoolKey extends Scope {
  readonly workflowName: WorkflowName;
}

export interface TakenSlot {
  readonly slot: number;
  readonly runId: RunId;
}

export interface WaitingRun {
  readonly runId: RunId;
  /** the requested start */
  readonly since: Instant;
  /** the run may take a slot below this number */
  readonly slots: number;
}

/** Maximum of the setting. */
export const maxSlots = 1_000;

/** Earlier starts first; at the same moment the lower id. */
export const byAdmissionOrder = (one: WaitingRun, other: WaitingRun): number =>
  one.since - other.since || (one.runId < other.runId ? -1 : one.runId > other.runId ? 1 : 0);

/** The lowest free slot for each waiting run, in admission order; runs that find none are missing. */
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
