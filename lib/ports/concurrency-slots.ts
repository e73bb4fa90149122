/** Concurrency slots of workflows with a limit on concurrent runs: which runs hold a slot, and which wait for one. */
import type { RunId } from '../engine/ids.ts';
import type { SlotPoolKey, TakenSlot, WaitingRun } from '../engine/concurrency-slots.ts';
import type { Instant } from '../engine/time.ts';

/** Every read is strongly consistent. */
export interface ConcurrencySlots {
  taken(pool: SlotPoolKey): Promise<readonly TakenSlot[]>;
  /** Takes the slot if it is free. True if the run holds it now, also if it held it before. */
  acquire(pool: SlotPoolKey, slot: number, runId: RunId, expiresAt: Instant): Promise<boolean>;
  /** Frees the slot if this run still holds it. */
  release(pool: SlotPoolKey, slot: number, runId: RunId): Promise<void>;
  /** The runs that wait for a slot, in the order in which they are admitted. */
  waiting(pool: SlotPoolKey, limit: number): Promise<readonly WaitingRun[]>;
  /** Adds the run to the waiting runs. Idempotent. */
  enqueue(pool: SlotPoolKey, run: WaitingRun, expiresAt: Instant): Promise<void>;
  dequeue(pool: SlotPoolKey, run: Pick<WaitingRun, 'runId' | 'since'>): Promise<void>;
}
