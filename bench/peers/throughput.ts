/** Steps per second of an engine with concurrent runs. */
import type { Engine } from './engine.ts';
import { rotate } from './rotate.ts';
import type { Samples } from './samples.ts';

/** per run */
const steps = 10;
/** Number of runs by concurrency: enough for at least a second of work. */
export const runsByConcurrency: Readonly<Record<number, number>> = { 1: 20, 10: 60, 100: 200 };

export const atOnce = (runs: number): string => `${runs} at once`;

export async function measureThroughput(engines: readonly Engine[], repeats: number): Promise<readonly Samples[]> {
  const measured: Samples[] = [];
  for (const [concurrency, runs] of Object.entries(runsByConcurrency)) {
    const perSecond = new Map<Engine, number[]>(engines.map((engine) => [engine, []]));
    for (let repeat = 0; repeat < repeats; repeat += 1) {
      for (const engine of rotate(engines, repeat)) {
        const inputs = Array.from({ length: runs }, (_one, at) => ({ run: `${concurrency}-${repeat}-${at}`, steps, every: 1 }));
        const { beganAt, results } = await engine.runAll('chain', inputs, Number(concurrency));
        // Until the last step of the last run, because engines report a run's end differently.
        const endedAt = Math.max(...results.flatMap(({ at }) => at));
        perSecond.get(engine)?.push((runs * steps * 1_000) / (endedAt - beganAt));
      }
    }
    for (const [engine, values] of perSecond)
      measured.push({ engine: engine.name, measure: atOnce(Number(concurrency)), unit: 'steps/s', values });
  }
  return measured;
}
