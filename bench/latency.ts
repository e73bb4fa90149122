/** Latency of a chain of no-op nodes, from the times of its events. */
import { setTimeout as wait } from 'node:timers/promises';
import * as z from 'zod';
import type { BenchCloud } from './bench-cloud.ts';
import { chain, chainOfEffects } from './workflows.ts';

const eventsShape = z.looseObject({
  data: z.array(z.looseObject({ type: z.string(), timestamp: z.string() })),
  hasMore: z.literal(false),
});

export interface Latencies {
  /** from the request to the final commit, for each run */
  readonly runMs: readonly number[];
  /** between the commits of consecutive nodes; those that share a commit have no time between them */
  readonly nodeMs: readonly number[];
}

/** Sequential runs, until `runs` runs or `seconds` seconds are reached. */
export async function measureChain(
  bench: BenchCloud,
  { length, hasEffects, runs, seconds }: { length: number; hasEffects: boolean; runs: number; seconds: number },
): Promise<Latencies> {
  const workflow = hasEffects ? chainOfEffects(length) : chain(length);
  await bench.publish(workflow);
  const runMs: number[] = [];
  const nodeMs: number[] = [];
  const until = performance.now() + seconds * 1_000;
  for (let run = 0; run < runs && performance.now() < until; run += 1) {
    const startedAt = Date.now();
    const runId = await bench.start(workflow, `latency-${workflow.name}-${run}`);
    while (!bench.hasEnded(runId)) await wait(5);
    const { data } = eventsShape.parse(await bench.get(`/v1/runs/${runId}/events?limit=200`));
    const timesOf = (type: string) => data.flatMap((event) => (event.type === type ? [Date.parse(event.timestamp)] : []));
    const completions = timesOf('node.completed');
    runMs.push(...timesOf('run.completed').map((at) => at - startedAt));
    nodeMs.push(...completions.slice(1).map((at, index) => at - (completions[index] ?? at)));
  }
  return { runMs, nodeMs };
}

/**
 * Milliseconds from the request to the answer, of runs that the request waits for, one after the other. The warm-up runs, as many again, are
 * not included, as those of the bare puts.
 */
export async function measureAnswered(bench: BenchCloud, length: number, runs: number): Promise<readonly number[]> {
  const workflow = chain(length);
  await bench.publish(workflow);
  const times: number[] = [];
  for (let run = -runs; run < runs; run += 1) {
    const startedAt = performance.now();
    await bench.startAndWait(workflow, `latency-answered-${run}`);
    if (run >= 0) times.push(performance.now() - startedAt);
  }
  return times;
}
