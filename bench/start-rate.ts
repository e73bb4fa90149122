/** Starts per second, while the started runs execute. */
import type { BenchCloud } from './bench-cloud.ts';
import { chain } from './workflows.ts';

/** Starts per second, `parallel` at a time, for `seconds`. */
export async function measureStartRate(bench: BenchCloud, parallel: number, seconds: number): Promise<number> {
  const workflow = chain(1);
  await bench.publish(workflow);
  const until = performance.now() + seconds * 1_000;
  let started = 0;
  const starter = async (workerIndex: number): Promise<void> => {
    for (let number = 0; performance.now() < until; number += 1) {
      await bench.start(workflow, `rate-${parallel}-${workerIndex}-${number}`);
      started += 1;
    }
  };
  const startedAt = performance.now();
  await Promise.all(Array.from({ length: parallel }, (_one, workerIndex) => starter(workerIndex)));
  return started / ((performance.now() - startedAt) / 1_000);
}
