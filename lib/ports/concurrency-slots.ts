/** The places of workflows that limit how many of their runs are at work, and who waits for one. */
import type { RunId } from '../engine/ids.ts';
import type { SlotPoolKey, TakenSlot, WaitingRun } from '../engine/concurrency-slots.ts';
import type { Instant } from '../engine/time.ts';

/** Every read is strong. */
export interface ConcurrencySlots {
  taken(of: SlotPoolKey): Promise<readonly TakenSlot[]>;
  /** Takes a place on the condition that it is free; true where it is the run's now, or was already. */
  acquire(of: SlotPoolKey, slot: number, runId: RunId, expiresAt: Instant): Promise<boolean>;
  /** Gives a place back, on the condition that it is still this run's. */
  release(of: SlotPoolKey, slot: number, runId: RunId): Promise<void>;
  /** Those who wait, the first to be let in first. */
  waiting(of: SlotPoolKey, limit: number): Promise<readonly WaitingRun[]>;
  /** Enters the run among them; twice is once. */
  enqueue(of: SlotPoolKey, run: WaitingRun, expiresAt: Instant): Promise<void>;
  dequeue(of: SlotPoolKey, run: Pick<WaitingRun, 'runId' | 'since'>): Promise<void>;
}
