/** Commits per item of a concurrent loop. Results that arrive together share a commit. */
import type { BenchCloud } from './bench-cloud.ts';
import { total } from './bill.ts';
import { looped } from './workflows.ts';

export interface LoopCommits {
  readonly concurrency: number;
  /** commits of the run divided by items */
  readonly commits: number;
  /** all writes of the run divided by items */
  readonly writeUnits: number;
}

/** No other run may be active. */
export async function countLoops(
  bench: BenchCloud,
  items: number,
  concurrencies: readonly number[],
): Promise<readonly LoopCommits[]> {
  const counted: LoopCommits[] = [];
  for (const concurrency of concurrencies) {
    const workflow = looped(items, { concurrency });
    await bench.publish(workflow);
    const from = bench.calls;
    const runId = await bench.start(workflow, `loop-commits-${concurrency}`);
    const status = await bench.waitUntilIdle(runId);
    if (status !== 'completed') throw new Error(`a loop of ${items} is ${status}`);
    const bill = bench.bill([runId], from);
    counted.push({
      concurrency,
      commits: total(bill.commits) / items,
      writeUnits: total(bill.writeUnits, ['rate windows']) / items,
    });
  }
  return counted;
}
