/** Time between sequential steps, compared with a bare conditional put, and its growth with the number of steps. */
import type { Engine } from './engine.ts';
import { type Curve, type Point, fitCurve } from './fit.ts';
import { rotate } from './rotate.ts';
import type { Samples } from './samples.ts';

export const bareName = 'a bare conditional put';
export const stepMeasure = 'step → step';

export interface LongChain {
  readonly engine: string;
  readonly steps: number;
  readonly points: readonly Point[];
  readonly curve: Curve;
}

export interface Rows {
  readonly samples: readonly Samples[];
  readonly chains: readonly LongChain[];
}

/** @param barePuts measures bare puts in milliseconds; called for each repeat */
export async function measureRows(
  engines: readonly Engine[],
  steps: number,
  repeats: number,
  barePuts: () => Promise<readonly number[]>,
): Promise<Rows> {
  const gaps = new Map<string, number[]>([[bareName, []]]);
  const chains: LongChain[] = [];
  for (let repeat = 0; repeat < repeats; repeat += 1) {
    gaps.get(bareName)?.push(...(await barePuts()));
    for (const engine of rotate(engines, repeat)) {
      const chain = await measureChain(engine, steps, 1, String(repeat));
      chains.push(chain);
      const engineGaps = gaps.get(engine.name) ?? [];
      engineGaps.push(...chain.points.slice(1).map(({ ms }, at) => ms - (chain.points[at]?.ms ?? ms)));
      gaps.set(engine.name, engineGaps);
    }
  }
  return { samples: [...gaps].map(([engine, values]) => ({ engine, measure: stepMeasure, unit: 'ms', values })), chains };
}

/** One run, timed from its first step. @param every steps per point of the curve */
export async function measureChain(engine: Engine, steps: number, every: number, name: string): Promise<LongChain> {
  const run = await engine.start('chain', { run: `row-${steps}-${name}`, steps, every });
  const { at } = await run.result();
  const [first = Number.NaN] = at;
  const points = at.map((time, index) => ({ steps: Math.min(index * every, steps - 1), ms: time - first }));
  return { engine: engine.name, steps, points, curve: fitCurve(points) };
}
