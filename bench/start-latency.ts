/** Latency of sequential `POST /v1/runs` on the embedded cloud, while the started runs execute. */
import type { BenchCloud } from './bench-cloud.ts';
import { chain } from './workflows.ts';

/** Milliseconds of each start, after a fifth as many warm-up starts. */
export async function measureStartTimes(bench: BenchCloud, starts: number): Promise<readonly number[]> {
  const workflow = chain(1);
  await bench.publish(workflow);
  const times: number[] = [];
  for (let number = -Math.ceil(starts / 5); number < starts; number += 1) {
    const startedAt = performance.now();
    await bench.start(workflow, `start-time-${number}`);
    if (number >= 0) times.push(performance.now() - startedAt);
  }
  return times;
}
