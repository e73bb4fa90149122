/**
 * Checks that no more runs are open than their workflow allows, that each run has its own concurrency slot, and that no run
 * starts without one.
 */
import { type RunAddress } from '../../lib/engine/ids.ts';
import type { Commit } from '../../lib/engine/log/commit.ts';
import { callerOf } from '../../lib/engine/log/lineage.ts';
import { runInvariant } from './violation.ts';

const endings: ReadonlySet<string> = new Set(['RUN_COMPLETED', 'RUN_FAILED', 'RUN_TIMED_OUT', 'RUN_CANCELLED']);

export class SlotChecker {
  readonly #limit: number;
  readonly #holders = new Map<string, number>();
  readonly #ended = new Set<string>();
  readonly #called = new Set<string>();
  /** runs that acquired a slot */
  acquired = 0;
  /** runs that waited for a slot */
  waited = 0;
  /** the most open runs at the same time */
  together = 0;

  constructor(limit = Infinity) {
    this.#limit = limit;
  }

  committed({ runId }: RunAddress, commit: Commit): void {
    const { events } = commit;
    // Child runs have their own slots, if any.
    if (callerOf({ commit }) !== undefined) this.#called.add(runId);
    if (this.#called.has(runId)) return;
    for (const event of events) {
      if (event.type === 'SLOT_AWAITED' && this.#holders.size >= this.#limit) this.waited += 1;
      if (event.type === 'SLOT_TAKEN') {
        const holder = [...this.#holders].find(([, slot]) => slot === event.slot)?.[0];
        runInvariant(4, holder === undefined, `${runId} acquired slot ${event.slot}, which ${holder} holds`);
        runInvariant(4, !this.#ended.has(runId), `${runId} acquired a slot after its end`);
        this.#holders.set(runId, event.slot);
        this.acquired += 1;
      } else if (endings.has(event.type)) {
        this.#holders.delete(runId);
        this.#ended.add(runId);
      } else if ('nodeId' in event && this.#limit !== Infinity) {
        runInvariant(4, this.#holders.has(runId), `${event.type} of ${runId}, which has no slot`);
      }
    }
    this.together = Math.max(this.together, this.#holders.size);
    runInvariant(4, this.#holders.size <= this.#limit, `${this.#holders.size} runs are open; the limit is ${this.#limit}`);
  }
}
