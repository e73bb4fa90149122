/** How many commits an item of a loop costs whose passes lie side by side: their results are decided as many at once as have come. */
import type { BenchCloud } from './bench-cloud.ts';
import { total } from './bill.ts';
import { looped } from './workflows.ts';

export interface LoopCommits {
  readonly concurrency: number;
  /** of each item, all commits of the run shared out */
  readonly commits: number;
  /** the same with snapshots and all else that is written */
  readonly writeUnits: number;
}

/** Nothing else may run meanwhile. */
export async function countLoops(
  bench: BenchCloud,
  items: number,
  concurrencies: readonly number[],
): Promise<readonly LoopCommits[]> {
  const counted: LoopCommits[] = [];
  for (const concurrency of concurrencies) {
    const workflow = looped(items, concurrency);
    await bench.publish(workflow);
    const from = bench.calls;
    const runId = await bench.start(workflow, `loop-commits-${concurrency}`);
    const status = await bench.waitUntilIdle(runId);
    if (status !== 'completed') throw new Error(`a loop of ${items} is ${status}`);
    const bill = bench.bill(runId, from);
    counted.push({
      concurrency,
      commits: total(bill.commits) / items,
      writeUnits: total(bill.writeUnits, ['rate windows']) / items,
    });
  }
  return counted;
}
