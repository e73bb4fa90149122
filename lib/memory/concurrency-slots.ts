/** Concurrency slots in memory. */
import type { RunId } from '../engine/ids.ts';
import { type SlotPoolKey, type TakenSlot, type WaitingRun, byAdmissionOrder } from '../engine/concurrency-slots.ts';
import type { Instant } from '../engine/time.ts';
import type { ConcurrencySlots } from '../ports/concurrency-slots.ts';
import { frozenCopy } from './frozen-copy.ts';
import { scopeName } from './runs.ts';

interface SlotPool {
  readonly taken: Map<number, RunId>;
  readonly waiting: Map<string, WaitingRun>;
}

export class MemoryConcurrencySlots implements ConcurrencySlots {
  readonly #pools = new Map<string, SlotPool>();

  async taken(pool: SlotPoolKey): Promise<readonly TakenSlot[]> {
    const taken = [...this.#pool(pool).taken].map(([slot, runId]) => ({ slot, runId }));
    return taken.toSorted((one, other) => one.slot - other.slot);
  }

  async acquire(pool: SlotPoolKey, slot: number, runId: RunId, _expiresAt: Instant): Promise<boolean> {
    const { taken } = this.#pool(pool);
    if (!taken.has(slot)) taken.set(slot, runId);
    return taken.get(slot) === runId;
  }

  async release(pool: SlotPoolKey, slot: number, runId: RunId): Promise<void> {
    const { taken } = this.#pool(pool);
    if (taken.get(slot) === runId) taken.delete(slot);
  }

  async waiting(pool: SlotPoolKey, limit: number): Promise<readonly WaitingRun[]> {
    return [...this.#pool(pool).waiting.values()].toSorted(byAdmissionOrder).slice(0, limit);
  }

  async enqueue(pool: SlotPoolKey, run: WaitingRun, _expiresAt: Instant): Promise<void> {
    this.#pool(pool).waiting.set(nameOf(run), frozenCopy(run));
  }

  async dequeue(pool: SlotPoolKey, run: Pick<WaitingRun, 'runId' | 'since'>): Promise<void> {
    this.#pool(pool).waiting.delete(nameOf(run));
  }

  #pool(pool: SlotPoolKey): SlotPool {
    const name = `${scopeName(pool)}#${pool.workflowName}`;
    const known = this.#pools.get(name) ?? { taken: new Map<number, RunId>(), waiting: new Map<string, WaitingRun>() };
    this.#pools.set(name, known);
    return known;
  }
}

const nameOf = ({ runId, since }: Pick<WaitingRun, 'runId' | 'since'>): string => `${since}#${runId}`;
