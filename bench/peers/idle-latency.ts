/** Latency of idle engines until they start to work. */
import { setTimeout as wait } from 'node:timers/promises';
import type { Engine, Started } from './engine.ts';
import { rotate } from './rotate.ts';
import { type Input, type ProgramName, type Result, nowMs } from './programs.ts';
import type { Samples } from './samples.ts';

export const idleMeasures = ['trigger → first step', 'signal → wake', 'child → parent'] as const;
type IdleMeasure = (typeof idleMeasures)[number];

/** Idle time after which a polling engine has reached its maximum poll interval. */
const idleWaitMs = 2_000;
const phaseMs = 1_000;

const once = (run: string): Input => ({ run, steps: 1, every: 1 });

const timeOf = ({ at }: Result, index: number): number => {
  const time = at[index];
  if (time === undefined) throw new Error(`a program tells ${at.length} times, and one of them is missing`);
  return time;
};

/** All engines idle; then each gets a request, in an order that rotates between rounds. */
export async function measureIdle(engines: readonly Engine[], rounds: number, phase: () => number): Promise<readonly Samples[]> {
  const measured = new Map<string, { readonly engine: string; readonly measure: IdleMeasure; readonly values: number[] }>();
  const recordSample = (engine: Engine, measure: IdleMeasure, value: number): void => {
    const key = `${engine.name}/${measure}`;
    const samplesOfKey = measured.get(key) ?? { engine: engine.name, measure, values: [] };
    samplesOfKey.values.push(value);
    measured.set(key, samplesOfKey);
  };
  const waitIdle = (): Promise<void> => wait(idleWaitMs + phase() * phaseMs);
  // The first round is a warm-up and not a sample.
  for (let round = -1; round < rounds; round += 1) {
    const rotatedEngines = rotate(engines, round + 1);
    const start = (engine: Engine, program: ProgramName): Promise<Started> => engine.start(program, once(`${program}-${round}`));
    const waiters = new Map<Engine, Started>();
    for (const engine of rotatedEngines) waiters.set(engine, await start(engine, 'waiter'));
    await waitIdle();
    for (const engine of rotatedEngines) {
      const requestedAt = nowMs();
      const stamped = await (await start(engine, 'stamp')).result();
      if (round >= 0) recordSample(engine, 'trigger → first step', timeOf(stamped, 0) - requestedAt);
    }
    await waitIdle();
    for (const [engine, waiter] of waiters) {
      const sentAt = nowMs();
      await waiter.signal();
      const woken = await waiter.result();
      if (round >= 0) recordSample(engine, 'signal → wake', timeOf(woken, 1) - sentAt);
    }
    await waitIdle();
    for (const engine of rotatedEngines) {
      const joined = await (await start(engine, 'parent')).result();
      if (round >= 0) recordSample(engine, 'child → parent', timeOf(joined, 2) - timeOf(joined, 0));
    }
  }
  return [...measured.values()].map((samples) => ({ ...samples, unit: 'ms' }));
}
