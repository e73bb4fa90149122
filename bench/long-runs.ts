/** Whether the time per node grows with the length of the run: measures runs of increasing length. */
import { setTimeout as wait } from 'node:timers/promises';
import * as z from 'zod';
import type { BenchCloud } from './bench-cloud.ts';
import { chainOfEffects, looped } from './workflows.ts';

const pageShape = z.looseObject({
  data: z.array(z.looseObject({ type: z.string(), timestamp: z.string(), nodeId: z.string().optional() })),
  hasMore: z.boolean(),
  cursor: z.union([z.string(), z.number()]).nullish(),
});

export interface LongRun {
  /** executed nodes */
  readonly nodes: number;
  /** time between commits (interquartile mean): of the whole run, of its first and its last tenth */
  readonly allMs: number;
  readonly firstMs: number;
  readonly lastMs: number;
}

/** Minimum samples for a mean, in short runs too. */
const minNodes = 300;

/** Chains of nodes, and sequential iterations of a loop. Each node has a commit, whose time is the time of the node. */
const workflowBuilders = {
  chain: chainOfEffects,
  loop: (items: number) => looped(items, { hasEffects: true }),
} as const;

export async function measureLongRuns(
  bench: BenchCloud,
  kind: keyof typeof workflowBuilders,
  lengths: readonly number[],
): Promise<readonly LongRun[]> {
  const measured: LongRun[] = [];
  for (const nodes of lengths) {
    const workflow = workflowBuilders[kind](nodes);
    await bench.publish(workflow);
    const [all, first, last]: [number[], number[], number[]] = [[], [], []];
    // The first run of each length is a warm-up.
    for (let run = 0; run <= Math.ceil(minNodes / nodes); run += 1) {
      const runId = await bench.start(workflow, `long-${kind}-${nodes}-${run}`);
      while (!bench.hasEnded(runId)) await wait(20);
      if (run === 0 && nodes < minNodes) continue;
      const gaps = await gapsOf(bench, runId);
      const tenth = Math.max(1, Math.floor(gaps.length / 10));
      all.push(...gaps);
      first.push(...gaps.slice(0, tenth));
      last.push(...gaps.slice(-tenth));
      if (nodes >= minNodes) break;
    }
    measured.push({ nodes, allMs: interquartileMean(all), firstMs: interquartileMean(first), lastMs: interquartileMean(last) });
  }
  return measured;
}

/** The interquartile mean: events have whole milliseconds, too coarse for a median of few samples. */
export function interquartileMean(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  const quarter = Math.floor(sorted.length / 4);
  const middleHalf = sorted.slice(quarter, sorted.length - quarter);
  return middleHalf.reduce((sum, value) => sum + value, 0) / middleHalf.length;
}

/** Only the iterations of a loop count. */
const ignoredNodes: ReadonlySet<string | undefined> = new Set(['items', 'each', 'end']);

/** Milliseconds between the ends of consecutive nodes. */
export async function gapsOf(bench: BenchCloud, runId: string): Promise<readonly number[]> {
  const times: number[] = [];
  for (let after = ''; ;) {
    const page = pageShape.parse(await bench.get(`/v1/runs/${runId}/events?limit=1000${after}`));
    for (const { type, timestamp, nodeId } of page.data)
      if (type === 'node.completed' && !ignoredNodes.has(nodeId)) times.push(Date.parse(timestamp));
    if (!page.hasMore) return times.slice(1).map((at, index) => at - (times[index] ?? at));
    after = `&after=${page.cursor}`;
  }
}

/** The exponent b of `time per node = a · length^b`, fitted by least squares over the logarithms. 0: length has no effect. */
export function growth(runs: readonly LongRun[]): number {
  const points = runs.map(({ nodes, allMs }) => [Math.log(nodes), Math.log(allMs)] as const);
  const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [atX, atY] = [mean(points.map(([x]) => x)), mean(points.map(([, y]) => y))];
  const spread = points.reduce((sum, [x]) => sum + (x - atX) ** 2, 0);
  return points.reduce((sum, [x, y]) => sum + (x - atX) * (y - atY), 0) / spread;
}
