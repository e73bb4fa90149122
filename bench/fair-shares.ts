/** How much longer small runs take beside endless scripts of the same project that start together. */
import { setTimeout as wait } from 'node:timers/promises';
import type { BenchCloud } from './bench-cloud.ts';
import { quantilesOf } from './quantiles.ts';
import { chain, endless } from './workflows.ts';

const runs = 20;
const pollIntervalMs = 5;
const timeoutMs = 300_000;

export interface FairShares {
  /** medians from the request until the head has the end */
  readonly aloneMs: number;
  readonly besideMs: number;
  readonly ratio: number;
}

export async function measureFairShares(bench: BenchCloud): Promise<FairShares> {
  const small = chain(1);
  await bench.publish(small);
  await bench.publish(endless);
  // Warms up the threads of the worker and the sandbox, to exclude cold starts.
  await timeRuns(bench, small, 'warm');
  const aloneMs = quantilesOf(await timeRuns(bench, small, 'alone')).p50;
  const loops: Promise<string>[] = [];
  const besideTimes = await timeRuns(bench, small, 'beside', (number) => loops.push(bench.start(endless, `endless-${number}`)));
  for (const loop of await Promise.all(loops)) await bench.cancel(loop);
  const besideMs = quantilesOf(besideTimes).p50;
  return { aloneMs, besideMs, ratio: besideMs / aloneMs };
}

/** @param before runs before each start */
function timeRuns(
  bench: BenchCloud,
  workflow: ReturnType<typeof chain>,
  name: string,
  before: (number: number) => void = () => undefined,
): Promise<readonly number[]> {
  return Promise.all(
    Array.from({ length: runs }, async (_one, number) => {
      before(number);
      const startedAt = performance.now();
      const runId = await bench.start(workflow, `fair-${name}-${number}`);
      while (!bench.hasEnded(runId)) {
        const tookMs = performance.now() - startedAt;
        if (tookMs > timeoutMs) throw new Error(`${runId} has not ended after ${timeoutMs} ms`);
        await wait(pollIntervalMs);
      }
      return performance.now() - startedAt;
    }),
  );
}
