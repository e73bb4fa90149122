/** Planted bugs in concurrency slots. */
import type { PlantedBug } from './bug.ts';

const options = { runs: 6, isShared: true, code: 0, limits: { maxConcurrentRuns: 2 } };

export const slotBugs: readonly PlantedBug[] = [
  {
    name: 'a concurrency slot is acquired without a check',
    file: 'lib/memory/coordination.ts',
    find: 'if (!taken.has(slot)) taken.set(slot, runId);',
    replace: 'taken.set(slot, runId);',
    within: 60,
    // More runs compete for a slot at once.
    options: { ...options, runs: 10 },
  },
  {
    name: 'a run starts without a concurrency slot',
    file: 'lib/engine/graph/begin.ts',
    find: "emit(draft, defined({ type: 'SLOT_AWAITED', slots, notBefore }));",
    replace: "emit(draft, defined({ type: 'SLOT_AWAITED', slots, notBefore }));\n  beginGraph(draft);",
    within: 10,
    options,
  },
  {
    name: 'an ended run does not release its concurrency slot',
    file: 'lib/service/execution/reconcile-slot.ts',
    find: 'if (slot !== keptSlot) await deps.concurrencySlots.release(pool, slot, runId);',
    replace: 'void [slot, keptSlot];',
    and: [
      // Nor does the sweep.
      {
        file: 'lib/service/execution/reconcile-slot.ts',
        find: 'if (hasEnded) await deps.concurrencySlots.release(pool, slot, runId);',
        replace: 'void hasEnded;',
      },
    ],
    within: 20,
    options,
  },
  {
    name: 'a run that waits for a concurrency slot is not queued',
    file: 'lib/service/execution/reconcile-slot.ts',
    find: 'await deps.concurrencySlots.enqueue(pool, waitingRun, fold.head.expiresAt);',
    replace: '',
    within: 20,
    faultProfile: 'none',
    options: { ...options, withoutSweep: true },
  },
];
